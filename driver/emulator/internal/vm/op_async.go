package vm

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// cp.async: background copies from global to shared memory. The emulator copies immediately or, in
// a launch with a seed, when the kernel waits for the copy. A program that waits as required cannot
// see the difference.

func init() {
	register(lowerCp, "cp")
}

func lowerCp(l *lowerer, i *ptx.Instr, f *form) {
	if slices.Contains(i.Op.Mods, "bulk") {
		l.bulk(i)
		return
	}
	rest := ""
	for _, r := range f.rest {
		if !cacheMod(r) {
			rest += "." + r
		}
	}
	switch rest {
	case ".async.commit_group":
		l.commitGroup(lateAsync)
	case ".async.wait_all", ".async.wait_group":
		l.waitGroup(i, lateAsync, rest == ".async.wait_all")
	case ".async.mbarrier.arrive", ".async.mbarrier.arrive.noinc":
		l.copyArrive(i, f, strings.HasSuffix(rest, ".noinc"))
	case ".async":
		l.asyncCopy(i, f)
	default:
		l.unsupported()
	}
}

// asyncCopy lowers cp.async.ca.shared.global [dst], [src], size {, srcSize} {, policy}. It also
// lowers the form with a predicate that suppresses reading the source.
func (l *lowerer) asyncCopy(i *ptx.Instr, f *form) {
	if !l.args(i, 3, 5) {
		return
	}
	size, ok := i.Args[2].(*ptx.Imm)
	if !ok || size.Bits != 4 && size.Bits != 8 && size.Bits != 16 {
		l.bad("size is not 4, 8 or 16")
		return
	}
	dst := l.memoryPlace(i.Args[0], ptx.SharedSpace)
	src := l.memoryPlace(i.Args[1], ptx.GlobalSpace)
	n := l.constant(class32, size.Bits)
	if len(i.Args) > 3 {
		if r, ok := i.Args[3].(*ptx.Reg); ok && l.isPred(r) {
			l.ignoring(r, n, &n)
		} else if !ok || !l.isWide(r) { // a 64-bit register holds a cache policy
			n = l.src(i.Args[3], ptx.U32)
		}
	}
	wideDst := dst.base.class == class64
	bytes := size.Bits
	m := l.emit(func(w *warp, in *inst, m uint32) { w.asyncCopy(in, m, wideDst, int(bytes)) }, noReg, dst.base, src.base, n)
	l.slot(m)
	m.in.imm = dst.imm
	m.in.aux = spaceShared | log2(int(bytes))<<accLog | accWrite
	x := m.extra()
	x.from = &inst{imm: src.imm, aux: spaceGlobal | log2(int(bytes))<<accLog, slot: l.b.prog.slots}
	l.b.prog.slots++
}

func (l *lowerer) isPred(r *ptx.Reg) bool {
	d, ok := l.lookupReg(r.Name)
	return ok && d.typ == ptx.Pred
}

func (l *lowerer) isWide(r *ptx.Reg) bool {
	d, ok := l.lookupReg(r.Name)
	return ok && d.reg.class == class64
}

// ignoring sets the source size to 0 in lanes where the predicate is true.
func (l *lowerer) ignoring(r *ptx.Reg, size reg, n *reg) {
	p, not := l.pred(r)
	t := l.newReg(class32)
	l.emit(execSelp[uint32], t, l.constant(class32, 0), size, p).in.imm = b2u64(not)
	*n = t
}

// asyncCopy writes size bytes for each lane. Column c holds the number of bytes that the lane reads
// from its source. The rest of the destination is filled with zeros.
func (w *warp) asyncCopy(in *inst, m uint32, wideDst bool, size int) {
	from := in.x.from
	w.pc = w.prog.pcOf(in, w.pc) // position for reports on the source
	to, src := w.site(in), w.site(from)
	a := w.addresses(in, wideDst, m)
	b, n := &w.r64[in.b], &w.r32[in.c]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d := unsafe.Slice((*byte)(w.pointer(in, to, a[i], i)), size)
		k := int(n[i])
		if k > size {
			panic(w.accessFault(FaultIllegalInstruction, in, a[i], i, fmt.Sprintf("source size %d is above %d", k, size)))
		}
		var s []byte
		if k > 0 {
			s = unsafe.Slice((*byte)(w.source(from, src, b[i]+from.imm, i, k)), k)
		}
		if shadow := w.cta.shadow; shadow != nil {
			w.later(lateAsync, i, shadow.open(w, d))
		}
		if w.delays() {
			w.later(lateAsync, i, func() { clear(d[copy(d, s):]) })
		} else {
			clear(d[copy(d, s):])
		}
	}
}

// source returns the place of the first n bytes at address p of lane i. The bytes after them, up to the size of the
// access, may be outside of the memory. The whole access must be aligned.
func (w *warp) source(from *inst, e *access, p uint64, i, n int) unsafe.Pointer {
	if n == int(from.size()) || p&(from.size()-1) != 0 {
		return w.pointer(from, e, p, i)
	}
	one := *from
	one.aux &= 1<<accLog - 1
	w.reach(&one, &access{}, p+uint64(n-1), i)
	return w.reach(&one, &access{}, p, i)
}

// cp.async.bulk and cp.reduce.async.bulk without tensor maps. As with cp.async, the copy and its
// completion signal happen immediately, except in launches with a seed.

// bulkCopy is the form of a bulk copy. Its columns are a (the destination), b (the source), c (the
// size in bytes) and x.regs (the mbarrier object and the mask).
type bulkCopy struct {
	dst, src       place
	barrier        bool // the copy signals an mbarrier object; otherwise it belongs to a bulk group
	multicast      bool // the copy goes to each block in the cluster that the mask selects
	bytes          bool // the mask selects the bytes to copy in each group of 16
	reduce         atomicOp
	size           int // size in bytes of an element in a reduction
	barImm         uint64
	barCode, dCode uint16
	sCode          uint16
}

// bulkUnit is the unit of bulk copies in bytes. Sizes and addresses must be multiples of it.
const bulkUnit = 16

// bulk lowers instructions that begin with cp.async.bulk or cp.reduce.async.bulk.
func (l *lowerer) bulk(i *ptx.Instr) {
	mods := slices.Clone(i.Op.Mods)
	reduce := mods[0] == "reduce"
	mods = mods[slices.Index(mods, "bulk")+1:]
	head := ""
	if len(mods) > 0 {
		head = mods[0]
	}
	switch {
	case head == "commit_group":
		l.commitGroup(lateBulk)
	case head == "wait_group":
		l.waitGroup(i, lateBulk, false)
	case head == "prefetch" && len(mods) > 1 && mods[1] == "L2":
		return
	case head == "tensor" || head == "prefetch":
		l.missing("tensor maps")
	default:
		l.bulkCopy(i, mods, reduce)
	}
}

func bulkSpaces(mods []string) (dst, src string, rest []string) {
	if len(mods) < 2 {
		return "", "", nil
	}
	return mods[0], mods[1], mods[2:]
}

func (l *lowerer) bulkCopy(i *ptx.Instr, mods []string, reduce bool) {
	dst, src, mods := bulkSpaces(mods)
	var c bulkCopy
	policy, op, typ, ok := c.modifiers(mods)
	switch dst + " " + src {
	case "shared::cluster global", "shared::cta global":
		ok = ok && c.barrier && !c.bytes && !reduce
	case "shared::cluster shared::cta":
		ok = ok && c.barrier && !c.multicast && !c.bytes && !policy
	case "global shared::cta":
		ok = ok && !c.barrier && !c.multicast
	default:
		ok = false
	}
	if !ok || reduce != (op != "") || c.multicast && dst != "shared::cluster" {
		l.unsupported()
		return
	}
	if reduce {
		c.reduce, c.size = atomicFunc(op, typ), typ.Size()
		if c.reduce == nil || !bulkReduces(dst, op, typ) {
			l.unsupported()
			return
		}
	}
	want := 3 + b2i(c.barrier) + b2i(c.multicast) + b2i(c.bytes) + b2i(policy)
	if l.args(i, want, want) {
		l.emitBulk(i, dst, src, c)
	}
}

func (c *bulkCopy) modifiers(mods []string) (policy bool, op string, typ ptx.Type, ok bool) {
	done := 0
	for _, m := range mods {
		t := ptx.ParseType(m)
		switch {
		case m == "mbarrier::complete_tx::bytes":
			c.barrier = true
			done++
		case m == "bulk_group":
			done++
		case m == "multicast::cluster":
			c.multicast = true
		case m == "cp_mask":
			c.bytes = true
		case m == "L2::cache_hint":
			policy = true
		case m == "noftz":
		case t != ptx.NoType && typ == ptx.NoType:
			typ = t
		case op == "" && !strings.Contains(m, "::"):
			op = m
		default:
			return policy, op, typ, false
		}
	}
	return policy, op, typ, done == 1 && (op == "") == (typ == ptx.NoType)
}

// bulkReduces reports whether a bulk reduction op on elements of type t exists for space dst.
func bulkReduces(dst, op string, t ptx.Type) bool {
	switch op {
	case "and", "or", "xor":
		return t == ptx.B32 || t == ptx.B64 && dst == "global"
	case "inc", "dec":
		return t == ptx.U32
	}
	if dst == "global" {
		return op == "add" || op == "min" || op == "max"
	}
	return op == "add" && (t == ptx.U64 || t == ptx.U32 || t == ptx.S32) || t == ptx.U32 || t == ptx.S32
}

func bulkSpace(name string) ptx.Space {
	if name == "global" {
		return ptx.GlobalSpace
	}
	return ptx.SharedSpace
}

func (l *lowerer) emitBulk(i *ptx.Instr, dst, src string, c bulkCopy) {
	args := i.Args
	var to, from, bar reg
	to, c.dst = l.wideAddress(args[0], bulkSpace(dst))
	from, c.src = l.wideAddress(args[1], bulkSpace(src))
	size := l.src(args[2], ptx.U32)
	args = args[3:]
	if c.barrier {
		var p place
		bar, p = l.wideAddress(args[0], ptx.SharedSpace)
		c.barImm, c.barCode = p.imm, spaceCode(p.space)
		args = args[1:]
	}
	c.dCode, c.sCode = spaceCode(c.dst.space)|accWrite, spaceCode(c.src.space)
	var mask reg
	if c.multicast || c.bytes {
		l.looseWidth = true
		mask = l.src(args[0], ptx.U32)
	}
	if l.failed {
		return
	}
	n := l.emit(func(w *warp, in *inst, m uint32) { w.bulkCopy(in, m, &c) }, noReg, to, from, size)
	if c.barrier {
		n.more(bar, false)
	}
	if c.multicast || c.bytes {
		n.more(mask, false)
	}
	l.slot(n).mem = false
	n.in.aux = c.dCode | log2(bulkUnit)<<accLog // reports take the space and the size from aux
}

// wideAddress returns an operand's place, and a 64-bit column with the base address.
func (l *lowerer) wideAddress(o ptx.Operand, space ptx.Space) (reg, place) {
	p := l.memoryPlace(o, space)
	if p.base == noReg {
		l.bad("kernel parameters have no such copies")
		return l.constant(class64, 0), p
	}
	return l.convert(p.base, class64), p
}

//go:norace
func (w *warp) bulkCopy(in *inst, m uint32, c *bulkCopy) {
	w.synced = true
	w.pc = w.prog.pcOf(in, w.pc) // position for reports on the copy's operands
	for ; m != 0; m &= m - 1 {
		w.beginBulk()
		w.bulkLane(in, c, first(m))
		w.endBulk(in)
	}
}

// beginBulk and endBulk enclose a lane's copy, as checkedAccess encloses other instructions. Only
// the first bytes of the copy are checked for races.
func (w *warp) beginBulk() {
	if s := w.cta.shadow; s != nil {
		s.hits, s.old = s.hits[:0], s.old[:0]
		s.batch++
		s.global.event = nil
	}
}

func (w *warp) endBulk(in *inst) {
	if w.cta.shadow != nil {
		w.afterAccess(in)
	}
}

//go:norace
func (w *warp) bulkLane(in *inst, c *bulkCopy, i int) {
	dst, src, n := w.r64[in.a][i]+c.dst.imm, w.r64[in.b][i]+c.src.imm, int(w.r32[in.c][i])
	extra := in.x
	var bar uint64
	var mask uint32 = full
	if c.barrier {
		bar = w.r64[extra.regs[0]][i] + c.barImm
	}
	if c.multicast || c.bytes {
		mask = w.r32[extra.regs[len(extra.regs)-1]][i] & 0xffff
	}
	if n%bulkUnit != 0 {
		panic(w.laneFault(FaultIllegalInstruction, in, i, fmt.Sprintf("size %d of a bulk copy is not a multiple of %d", n, bulkUnit)))
	}
	from := w.span(in, c.sCode, src, n, i)
	if !c.multicast {
		w.bulkTo(in, c, from, dst, bar, mask, i)
		return
	}
	for r := range uint64(16) {
		if mask>>r&1 != 0 {
			tag := (r + 1) << clusterShift
			w.bulkTo(in, c, from, dst&(clusterBytes-1)|tag, bar&(clusterBytes-1)|tag, full, i)
		}
	}
}

// bulkTo writes to one destination and signals its mbarrier object, or delays both in a launch with
// a seed.
//
//go:norace
func (w *warp) bulkTo(in *inst, c *bulkCopy, from []byte, dst, bar uint64, mask uint32, i int) {
	to := w.span(in, c.dCode, dst, len(from), i)
	kind := lateBulk
	if c.barrier {
		kind = lateBarrier
		w.completeBytes(in, c.barCode, bar, 0, i) // check that the barrier object exists
	}
	if !w.delays() {
		w.bulkDo(in, c, to, from, dst, bar, mask, i)
		return
	}
	pc := w.pc
	w.later(kind, i, func() {
		at := w.pc
		w.pc = pc // reports show this position
		w.bulkDo(in, c, to, from, dst, bar, mask, i)
		w.pc = at
	})
}

// bulkDo performs a copy after its operands have been checked.
//
//go:norace
func (w *warp) bulkDo(in *inst, c *bulkCopy, to, from []byte, dst, bar uint64, mask uint32, i int) {
	switch {
	case c.reduce != nil:
		c.reduceTo(to, from)
	case c.bytes:
		for k := range from {
			if mask>>(k%bulkUnit)&1 != 0 {
				to[k] = from[k]
			}
		}
	default:
		copy(to, from)
	}
	w.written(c.dCode, dst, len(from))
	if c.barrier {
		w.completeBytes(in, c.barCode, bar, len(from), i)
	}
}

//go:norace
func (c *bulkCopy) reduceTo(to, from []byte) {
	for k := 0; k < len(from); k += c.size {
		p, q := unsafe.Pointer(&to[k]), unsafe.Pointer(&from[k])
		switch c.size {
		case 8:
			update64((*uint64)(p), c.reduce, *(*uint64)(q), 0)
		case 4:
			update32((*uint32)(p), c.reduce, *(*uint32)(q), 0)
		default:
			updatePart(p, c.size, c.reduce, uint32(*(*uint16)(q)), 0)
		}
	}
}

// span returns n bytes of memory at p for lane i, or panics with a fault. code holds the space,
// plus accWrite for a destination.
func (w *warp) span(in *inst, code uint16, p uint64, n int, i int) []byte {
	if n == 0 {
		return nil
	}
	probe := inst{aux: code | log2(bulkUnit)<<accLog, slot: in.slot}
	e := access{region: deadRegion}
	at := w.pointer(&probe, &e, p, i)
	if code&accWrite == 0 {
		w.endBulk(&probe)
	}
	if left := e.n - (p - e.addr) + bulkUnit - 1; uint64(n) > left {
		panic(w.accessFault(FaultIllegal, &probe, p, i, fmt.Sprintf("a bulk copy of %d bytes, %d are left in %s", n, left, describe(e.region.Addr, e.region.Size, e.region.Tag))))
	}
	return unsafe.Slice((*byte)(at), n)
}

func (w *warp) written(code uint16, p uint64, n int) {
	s := w.cta.shadow
	switch {
	case s == nil:
		return
	case code&spaceMask == spaceGlobal:
		w.cta.run.mem.Written(p, uint64(n))
		return
	case p >= clusterBytes:
		o := w.cta.group().ctas[p>>clusterShift-1]
		o.shadow.writtenOutside(p&(clusterBytes-1), uint64(n))
		return
	}
	s.epoch++
	for k := p; k < p+uint64(n); k++ {
		s.bytes[k].write = touch{thread: uint32(w.id*lanes) + 1, pc: w.pc, epoch: s.epoch, warp: w.epoch}
	}
	s.epoch++
}

// Delayed asynchronous copies. A launch with a seed varies everything that a program must not rely
// on. It therefore performs a copy when the kernel waits for it, not when the kernel issues it.
// Each poll of an mbarrier object performs a random selection of the copies that signal mbarrier
// objects. A program that reads data without waiting therefore reads the old contents.

// lateKind says how the kernel waits for a copy.
type lateKind uint8

const (
	lateAsync   lateKind = iota // cp.async; a thread waits for its own groups
	lateBulk                    // cp.async.bulk; a thread waits for its own groups
	lateBarrier                 // the kernel waits for an mbarrier object
	lateGroups  = int(lateBarrier)
)

// lateCopy is a copy that a thread has issued but that has not been performed yet.
type lateCopy struct {
	w     *warp
	lane  int
	kind  lateKind
	group uint32 // number of groups that the thread had committed before the copy
	do    func()
}

func (w *warp) delays() bool { return w.cta.run.opts.Seed != 0 }

// countsGroups reports whether something happens when the kernel waits for a group of copies: the
// copies themselves, or the end of a record that checks keep of them.
func (w *warp) countsGroups() bool { return w.delays() || w.cta.shadow != nil }

// later stores what is due when lane i's copy is.
func (w *warp) later(kind lateKind, i int, do func()) {
	c := lateCopy{w: w, lane: i, kind: kind, do: do}
	if kind != lateBarrier {
		c.group = w.commits[kind][i]
	}
	w.cta.late = append(w.cta.late, c)
}

func (c *cta) makeLate(due func(k *lateCopy) bool) {
	left := c.late[:0]
	for _, k := range c.late {
		if due(&k) {
			k.do()
		} else {
			left = append(left, k)
		}
	}
	clear(c.late[len(left):])
	c.late = left
}

// advance performs a random selection of the copies that signal mbarrier objects. It is called when
// a thread of the cluster polls such an object.
func (c *cta) advance() {
	for _, o := range c.group().ctas {
		if len(o.late) != 0 {
			o.makeLate(func(k *lateCopy) bool {
				c.rng = splitmix(c.rng)
				return k.kind == lateBarrier && c.rng&1 != 0
			})
		}
	}
}

// finishLate performs the remaining copies when the block ends.
func (c *cta) finishLate() {
	if len(c.late) != 0 {
		c.makeLate(func(*lateCopy) bool { return true })
	}
}

func (l *lowerer) commitGroup(kind lateKind) {
	l.emit(func(w *warp, in *inst, m uint32) {
		if w.countsGroups() {
			w.commit(kind, m)
		}
	}, noReg)
}

func (w *warp) commit(kind lateKind, m uint32) {
	for ; m != 0; m &= m - 1 {
		w.commits[kind][first(m)]++
	}
}

// waitGroup lowers cp.async.wait_group. Its operand is the number of the most recent groups that
// may remain incomplete. wait_all has no operand and commits first.
func (l *lowerer) waitGroup(i *ptx.Instr, kind lateKind, all bool) {
	var open uint32
	if !all {
		if !l.args(i, 1, 1) {
			return
		}
		n, ok := i.Args[0].(*ptx.Imm)
		if !ok {
			l.bad("number of groups is not a constant")
			return
		}
		open = uint32(n.Bits)
	}
	l.emit(func(w *warp, in *inst, m uint32) {
		if !w.countsGroups() {
			return
		}
		if all {
			w.commit(kind, m)
		}
		w.completeGroups(kind, m, open)
	}, noReg)
}

// completeGroups performs the committed copies of the lanes in m, except those in each lane's open
// most recent groups.
func (w *warp) completeGroups(kind lateKind, m, open uint32) {
	w.cta.makeLate(func(k *lateCopy) bool {
		return k.w == w && k.kind == kind && m>>k.lane&1 != 0 && k.group+open < w.commits[kind][k.lane]
	})
}
