package vm

import (
	"github.com/purecuda/cuda/ptx"
)

// Operations across the lanes of a warp.

func init() {
	register(lowerShfl, "shfl")
	register(lowerVote, "vote")
	register(lowerMatch, "match")
	register(lowerRedux, "redux")
	register(lowerActivemask, "activemask")
	register(lowerElect, "elect")
}

// syncInstr emits an operation that waits for the lanes in a member mask. The mask's column is
// x.regs[0]. The caller may add operands and must then call finishSync.
func (l *lowerer) syncInstr(exec execFunc, d reg, member ptx.Operand, srcs ...reg) *lowered {
	mask := l.src(member, ptx.U32)
	n := l.emit(exec, d, srcs...)
	n.more(mask, false)
	n.in.ctl = ctlSync
	x := n.extra()
	x.sync = &syncOp{sig: l.cur.Op.Text}
	if imm, ok := member.(*ptx.Imm); ok && uint32(imm.Bits) == full {
		x.sync.all = true
	}
	return n
}

// finishSync records the operands, which are needed when lanes meet at different instructions.
func (l *lowerer) finishSync(n *lowered) {
	for _, r := range n.refs {
		if r.field != fieldGuard {
			n.in.x.sync.operands = append(n.in.x.sync.operands, syncOperand{r.field, r.reg.class, r.def})
		}
	}
}

// The modes of shfl, in inst.aux.
const (
	shflUp = iota
	shflDown
	shflBfly
	shflIdx
)

func lowerShfl(l *lowerer, i *ptx.Instr, f *form) {
	mode := -1
	for _, r := range f.rest {
		switch r {
		case "up":
			mode = shflUp
		case "down":
			mode = shflDown
		case "bfly":
			mode = shflBfly
		case "idx":
			mode = shflIdx
		}
	}
	want := 4
	if f.has(flagSync) {
		want = 5
	}
	if mode < 0 || len(f.rest) != 1 || f.typ() == ptx.NoType || classOf(f.typ()) != class32 {
		l.unsupported()
		return
	}
	if !l.args(i, want, want) {
		return
	}
	d, p := l.pairDst(i.Args[0], ptx.B32)
	a, b, c := l.src(i.Args[1], ptx.B32), l.src(i.Args[2], ptx.U32), l.src(i.Args[3], ptx.U32)
	if want == 4 { // without .sync, the form uses whichever lanes are active
		n := l.emit(execShfl, d, a, b, c)
		n.more(l.constant(class32, uint64(full)), false)
		n.more(p, true)
		n.in.aux = uint16(mode)
		return
	}
	n := l.syncInstr(execShfl, d, i.Args[4], a, b, c)
	n.more(p, true)
	n.in.aux = uint16(mode)
	l.finishSync(n)
}

// pairDst returns the registers of a destination d or d|p. Without p, it returns a predicate that
// is never read.
func (l *lowerer) pairDst(o ptx.Operand, t ptx.Type) (d, p reg) {
	if pair, ok := o.(*ptx.Pair); ok {
		return l.dst(pair.A, t), l.dst(pair.B, ptx.Pred)
	}
	return l.dst(o, t), l.newReg(classPred)
}

//go:norace
func execShfl(w *warp, in *inst, m uint32) {
	d, b, c := &w.r32[in.d], w.r32[in.b], w.r32[in.c]
	a := w.r32[in.a] // copy, because d may be the same column
	var pred uint32
	for k := m; k != 0; k &= k - 1 {
		i := uint32(first(k))
		clamp, seg := c[i]&31, c[i]>>8&31
		maxLane := i&seg | clamp&^seg
		n := b[i] & 31
		var j uint32
		var ok bool
		switch in.aux {
		case shflUp:
			j = i - n
			ok = int32(j) >= int32(maxLane)
		case shflDown:
			j = i + n
			ok = j <= maxLane
		case shflBfly:
			j = i ^ n
			ok = j <= maxLane
		default:
			j = i&seg | n&^seg
			ok = j <= maxLane
		}
		if !ok {
			j = i
		} else {
			pred |= 1 << i
		}
		d[i] = a[j&31]
	}
	p := in.x.regs[1]
	w.pr[p] = w.pr[p]&^m | pred
}

const (
	voteAll = iota
	voteAny
	voteUni
	voteBallot
)

func lowerVote(l *lowerer, i *ptx.Instr, f *form) {
	if f.has(flagUni) {
		f.rest = append(f.rest, "uni")
	}
	if len(f.rest) != 1 {
		l.unsupported()
		return
	}
	mode, ok := map[string]uint16{"all": voteAll, "any": voteAny, "uni": voteUni, "ballot": voteBallot}[f.rest[0]]
	t := ptx.Pred
	if mode == voteBallot {
		t = ptx.B32
	}
	want := 2
	if f.has(flagSync) {
		want = 3
	}
	if !ok || f.typ() != t || !l.args(i, want, want) {
		l.unsupported()
		return
	}
	exec := execVote
	if mode == voteBallot {
		exec = execBallot
	}
	p, not := l.pred(i.Args[1])
	d := l.dst(i.Args[0], t)
	var n *lowered
	if want == 2 {
		n = l.emit(exec, d, p)
	} else {
		n = l.syncInstr(exec, d, i.Args[2], p)
		l.finishSync(n)
	}
	n.in.aux, n.in.imm = mode, b2u64(not)
}

//go:norace
func (w *warp) votes(in *inst, m uint32) uint32 {
	p := w.pr[in.a]
	if in.imm != 0 {
		p = ^p
	}
	return p & m
}

//go:norace
func execVote(w *warp, in *inst, m uint32) {
	p := w.votes(in, m)
	var r bool
	switch in.aux {
	case voteAll:
		r = p == m
	case voteAny:
		r = p != 0
	default:
		r = p == m || p == 0
	}
	setPred(&w.pr[in.d], m, r)
}

//go:norace
func execBallot(w *warp, in *inst, m uint32) {
	fill(&w.r32[in.d], w.votes(in, m), m)
}

func lowerMatch(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	if len(f.rest) != 1 || !l.args(i, 3, 3) || t.Size() < 4 {
		l.unsupported()
		return
	}
	d, p := l.pairDst(i.Args[0], ptx.B32)
	a := l.src(i.Args[1], t)
	exec := execMatch[uint32]
	if classOf(t) == class64 {
		exec = execMatch[uint64]
	}
	n := l.syncInstr(exec, d, i.Args[2], a)
	n.more(p, true)
	n.in.aux = uint16(b2u(f.rest[0] == "all"))
	l.finishSync(n)
}

//go:norace
func execMatch[T uint32 | uint64](w *warp, in *inst, m uint32) {
	a := *col[T](w, in.a)
	d := &w.r32[in.d]
	var same uint32
	for k := m; k != 0; k &= k - 1 {
		i := first(k)
		var r uint32
		for j := m; j != 0; j &= j - 1 {
			if o := first(j); a[o] == a[i] {
				r |= 1 << o
			}
		}
		d[i] = r
		same = r
	}
	if in.aux == 0 {
		return
	}
	all := same == m
	if !all {
		fill(d, 0, m)
	}
	setPred(&w.pr[in.x.regs[1]], m, all)
}

func lowerRedux(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	op := ""
	for _, r := range f.rest {
		op += r
	}
	if !l.args(i, 3, 3) || classOf(t) != class32 {
		l.unsupported()
		return
	}
	fn := reduxFunc(op, t, f)
	if fn == nil {
		l.unsupported()
		return
	}
	a := l.src(i.Args[1], t)
	n := l.syncInstr(func(w *warp, in *inst, m uint32) {
		a := &w.r32[in.a]
		r := a[first(m)]
		for k := m & (m - 1); k != 0; k &= k - 1 {
			r = fn(r, a[first(k)])
		}
		fill(&w.r32[in.d], r, m)
	}, l.dst(i.Args[0], t), i.Args[2], a)
	l.finishSync(n)
}

// reduxFunc returns the function that combines two 32-bit values in redux and in other reductions,
// or nil.
func reduxFunc(op string, t ptx.Type, f *form) func(a, b uint32) uint32 {
	if t == ptx.F32 && (op == "min" || op == "max") {
		mm := minmax{max: op == "max", nan: f.has(flagNaN), abs: f.has(flagAbs)}
		return func(a, b uint32) uint32 { return mm.f32bits(a, b) }
	}
	switch op {
	case "add":
		return func(a, b uint32) uint32 { return a + b }
	case "and":
		return func(a, b uint32) uint32 { return a & b }
	case "or":
		return func(a, b uint32) uint32 { return a | b }
	case "xor":
		return func(a, b uint32) uint32 { return a ^ b }
	case "min":
		if t == ptx.S32 {
			return func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }
		}
		return func(a, b uint32) uint32 { return min(a, b) }
	case "max":
		if t == ptx.S32 {
			return func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }
		}
		return func(a, b uint32) uint32 { return max(a, b) }
	}
	return nil
}

func lowerActivemask(l *lowerer, i *ptx.Instr, f *form) {
	if l.args(i, 1, 1) {
		l.emit(func(w *warp, in *inst, m uint32) { fill(&w.r32[in.d], m, m) }, l.dst(i.Args[0], ptx.B32))
	}
}

func lowerElect(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 2) {
		return
	}
	d, p := l.pairDst(i.Args[0], ptx.B32)
	n := l.syncInstr(func(w *warp, in *inst, m uint32) {
		leader := uint32(first(m))
		fill(&w.r32[in.d], leader, m)
		q := &w.pr[in.x.regs[1]]
		*q = *q&^m | 1<<leader
	}, d, i.Args[1])
	n.more(p, true)
	l.finishSync(n)
}

// syncOp holds what an operation with a member mask needs if lanes arrive at different times or at
// different instructions.
type syncOp struct {
	sig      string // lanes may meet at instructions that have the same signature
	all      bool   // the member mask contains all lanes
	operands []syncOperand
}

type syncOperand struct {
	field field
	class class
	def   bool
}

// syncScratch holds the operands of lanes that meet at different instructions.
type syncScratch struct {
	r32 [][lanes]uint32
	r64 [][lanes]uint64
	pr  []uint32
	in  inst // the instruction that operates on these columns
	x   extra
}

// syncLanes executes an operation with a member mask for those lanes of the running split whose
// members have all arrived. The other lanes wait.
func (w *warp) syncLanes(in *inst) bool {
	w.epoch++
	if in.ctl == ctlWarpBarrier {
		w.synced = true
	}
	if w.mask == w.live { // no other lane can arrive
		w.execGroups(in, w.mask)
		w.pc++
		return true
	}
	ready, waiting := uint32(0), w.mask
	for m := w.mask; m != 0; {
		want, g := w.members(in, m)
		m &^= g
		if want&w.live&^g == 0 {
			in.exec(w, in, g)
			ready |= g
			waiting &^= g
		}
	}
	if waiting == 0 {
		w.pc++
		return w.reschedule(w.pc)
	}
	if ready != 0 {
		w.splits = append(w.splits, split{pc: w.pc + 1, mask: ready, frame: w.frame, turn: w.turn})
	}
	w.mask = waiting
	w.park(split{pc: w.pc, wait: waitWarp, in: in})
	w.rendezvous(in)
	return w.pick()
}

// members returns the member mask of the lowest lane in m, and the lanes in m with the same member
// mask.
func (w *warp) members(in *inst, m uint32) (want, group uint32) {
	if in.x.sync.all {
		return full, m
	}
	c := &w.r32[in.x.regs[0]]
	want = c[first(m)]
	for ; m != 0; m &= m - 1 {
		if i := first(m); c[i] == want {
			group |= 1 << i
		}
	}
	return want, group
}

// execGroups executes an instruction once for each group of lanes with equal member masks.
func (w *warp) execGroups(in *inst, m uint32) {
	for m != 0 {
		_, g := w.members(in, m)
		in.exec(w, in, g)
		m &^= g
	}
}

// rendezvous executes an operation whose members wait at different instructions. It collects their
// operands, executes the operation once, and distributes the results.
func (w *warp) rendezvous(in *inst) {
	var want, here uint32
	have := false
	for i := range w.splits {
		s := &w.splits[i]
		if !w.waitsAt(s, in) {
			continue
		}
		sw, g := w.splitMembers(s)
		if g != s.mask || have && sw != want {
			return // lanes with different masks at one instruction wait for their own members
		}
		want, have = sw, true
		here |= s.mask
	}
	if want&w.live&^here != 0 {
		return
	}
	w.meet(in, here)
}

// waitsAt reports whether s waits at an instruction that can be executed together with in.
func (w *warp) waitsAt(s *split, in *inst) bool {
	return s.wait == waitWarp && s.in != nil && s.in.x.sync.sig == in.x.sync.sig && len(s.in.x.sync.operands) == len(in.x.sync.operands)
}

// splitMembers is the counterpart of members for a waiting split.
func (w *warp) splitMembers(s *split) (want, group uint32) {
	if s.in.x.sync.all {
		return full, s.mask
	}
	c := &w.slab32[s.frame.bank[class32]+s.in.x.regs[0]]
	want = c[first(s.mask)]
	for m := s.mask; m != 0; m &= m - 1 {
		if i := first(m); c[i] == want {
			group |= 1 << i
		}
	}
	return want, group
}

// meet executes one operation for lanes that wait for it at several instructions. here is the mask
// of these lanes.
func (w *warp) meet(in *inst, here uint32) {
	n := len(in.x.sync.operands)
	sc := &w.scratch
	if len(sc.pr) < n {
		sc.r32, sc.r64, sc.pr = make([][lanes]uint32, n), make([][lanes]uint64, n), make([]uint32, n)
	}
	w.exchange(in, false)
	v, regs := &sc.in, append(sc.x.regs[:0], in.x.regs...)
	*v, sc.x = *in, *in.x
	v.x, sc.x.regs = &sc.x, regs
	for k, o := range in.x.sync.operands {
		v.set(o.field, uint32(k))
	}
	old := w.frame
	w.r32, w.r64, w.pr = sc.r32, sc.r64, sc.pr
	v.exec(w, v, here)
	w.setFrame(old)
	w.exchange(in, true)
	for i := range w.splits {
		if s := &w.splits[i]; w.waitsAt(s, in) && s.mask&here != 0 {
			s.pc++
			s.wait = waitNone
		}
	}
}

// exchange copies the operands of the lanes that meet to the scratch columns. If back is set, it
// copies the results from the scratch columns to the lanes' registers.
func (w *warp) exchange(in *inst, back bool) {
	sc := &w.scratch
	for i := range w.splits {
		s := &w.splits[i]
		if !w.waitsAt(s, in) {
			continue
		}
		for k, o := range s.in.x.sync.operands {
			if back && !o.def {
				continue
			}
			at := s.frame.bank[o.class] + s.in.get(o.field)
			for m := s.mask; m != 0; m &= m - 1 {
				l := first(m)
				switch {
				case o.class == class32 && back:
					w.slab32[at][l] = sc.r32[k][l]
				case o.class == class32:
					sc.r32[k][l] = w.slab32[at][l]
				case o.class == class64 && back:
					w.slab64[at][l] = sc.r64[k][l]
				case o.class == class64:
					sc.r64[k][l] = w.slab64[at][l]
				case back:
					setPred(&w.slabP[at], 1<<l, sc.pr[k]>>l&1 != 0)
				default:
					setPred(&sc.pr[k], 1<<l, w.slabP[at]>>l&1 != 0)
				}
			}
		}
	}
}
