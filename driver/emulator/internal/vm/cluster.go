package vm

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// Clusters: blocks that run concurrently and can access each other's shared memory. All blocks of a
// cluster run in turn on one goroutine, so their shared state needs no locks.

// mapa maps byte b in the shared memory of block r in the cluster to the address
// (r+1)<<clusterShift + b. Lower addresses belong to the executing block. Shared memory is always
// smaller than 1<<clusterShift, so the two kinds of address cannot be confused.
const (
	clusterShift = 24
	clusterBytes = 1 << clusterShift
)

// cluster is the state that the blocks of a cluster share. The first block represents the cluster
// in the launch's lists.
type cluster struct {
	ctas  []*cta // blocks in the cluster, by rank
	ended []bool
	stuck int // number of turns in which all blocks waited (see fault.go)
}

// group returns the block's cluster. In a launch without clusters, each block is a cluster of its
// own.
func (c *cta) group() *cluster {
	if c.cluster == nil {
		c.cluster = &cluster{ctas: []*cta{c}, ended: make([]bool, 1)}
	}
	return c.cluster
}

func (c *cta) rank() uint32 {
	if c.cluster == nil {
		return 0
	}
	for i, o := range c.cluster.ctas {
		if o == c {
			return uint32(i)
		}
	}
	panic("vm: block is not in its cluster")
}

// clusterSize returns the shape of the launch's clusters.
func (o *LaunchOptions) clusterSize() Dim3 {
	if o.Cluster.Count() == 0 {
		return Dim3{1, 1, 1}
	}
	return o.Cluster
}

// startCluster prepares all blocks in cluster i of the grid and returns the first one.
func (r *launchRun) startCluster(i uint64) *cta {
	size := r.opts.clusterSize()
	n := over(r.opts.Grid, size)
	x, y := uint64(n.X), uint64(n.Y)
	at := Dim3{uint32(i%x) * size.X, uint32(i/x%y) * size.Y, uint32(i/x/y) * size.Z}
	k := &cluster{ended: make([]bool, size.Count())}
	for j := range uint32(size.Count()) {
		c := r.newCTA()
		c.reset(Dim3{at.X + j%size.X, at.Y + j/size.X%size.Y, at.Z + j/size.X/size.Y})
		c.cluster = k
		k.ctas = append(k.ctas, c)
	}
	return k.ctas[0]
}

// step runs one turn of each block in the cluster that has not ended.
func (k *cluster) step() stepState {
	left, waiting := 0, 0
	for i, c := range k.ctas {
		if k.ended[i] {
			continue
		}
		switch c.step() {
		case stepDone:
			k.end(i)
			continue
		case stepWait:
			waiting++
		}
		left++
	}
	switch {
	case left == 0:
		return stepDone
	case left == waiting && !k.runnable():
		panic(k.deadlock())
	}
	k.lookStuck()
	return stepYield
}

func (k *cluster) runnable() bool {
	for i, c := range k.ctas {
		if !k.ended[i] && c.runnable() {
			return true
		}
	}
	return false
}

func (k *cluster) deadlock() *Fault {
	for i, c := range k.ctas {
		if !k.ended[i] {
			return c.deadlock()
		}
	}
	panic("vm: no block of the cluster is left")
}

// end records that block i has ended. The other blocks may no longer access its shared memory.
func (k *cluster) end(i int) {
	k.ended[i] = true
	for _, o := range k.ctas {
		for j := range o.cache {
			if o != k.ctas[i] && o.cache[j].region == k.ctas[i].sharedRegion {
				o.cache[j] = access{region: deadRegion}
			}
		}
	}
}

func (c *cta) waitsForCluster() bool {
	for _, w := range c.warps {
		for i := range w.splits {
			if s := &w.splits[i]; w.live != 0 && s.wait == waitBarrier && s.bar == clusterBarrier {
				return true
			}
		}
	}
	return false
}

// member returns the block with the given rank in the cluster. If there is no such block or it has
// ended, member panics with a fault.
func (w *warp) member(in *inst, p uint64, rank uint64, i int) *cta {
	k := w.cta.group()
	if rank >= uint64(len(k.ctas)) {
		panic(w.accessFault(FaultClusterGone, in, p, i, fmt.Sprintf("the cluster has no block of rank %d, it has %d blocks", rank, len(k.ctas))))
	}
	c := k.ctas[rank]
	if k.ended[rank] {
		panic(w.accessFault(FaultClusterGone, in, p, i, fmt.Sprintf("block %v of the cluster, of rank %d, has ended", c.id, rank)))
	}
	return c
}

// reachCluster returns the shared memory of a block in the cluster, or panics with a fault. p is a
// shared address. window is sharedWindow if the instruction used a generic address, and 0
// otherwise.
func (w *warp) reachCluster(in *inst, e *access, p, window uint64, i int) unsafe.Pointer {
	if window == 0 && in.aux&accMemory != 0 && !w.prog.cluster[in.slot] {
		panic(w.accessFault(FaultIllegalInstruction, in, p, i, "an address in another block, in an instruction without .shared::cluster"))
	}
	size := in.size()
	tag := p &^ (clusterBytes - 1)
	c := w.member(in, p, p>>clusterShift-1, i)
	r, off := c.sharedRegion, p-tag
	if off >= r.Size || r.Size-off < size {
		panic(w.accessFault(FaultIllegal, in, p, i, fmt.Sprintf("block %v has %d bytes of shared memory", c.id, r.Size)))
	}
	*e = access{window + tag, r.Size - size + 1, r.base, r}
	if c.shadow != nil {
		w.unremember(in, e)
		if in.aux&accWrite != 0 {
			c.shadow.writtenOutside(off, size)
		}
	}
	return unsafe.Add(r.base, off)
}

// clusterBarrier stands for the cluster's barrier in split.bar.
const clusterBarrier = numBarriers

// The forms of barrier.cluster, as stored in inst.aux. The numbers continue those of bar.
const (
	barClusterArrive = barRedOr + 1 + iota
	barClusterWait
)

func (w *warp) barrierCluster(in *inst) bool {
	w.synced = true
	if in.aux == barClusterArrive {
		return w.arriveCluster(in)
	}
	if bad := w.mask &^ (w.arrived | w.passed); bad != 0 {
		panic(w.laneFault(FaultBarrier, in, first(bad), "waits at the cluster's barrier without having arrived"))
	}
	rest := w.mask & w.arrived
	w.passed &^= w.mask
	if rest == 0 {
		w.pc++
		return true
	}
	if through := w.mask &^ rest; through != 0 {
		w.splits = append(w.splits, split{pc: w.pc + 1, mask: through, frame: w.frame, turn: w.turn})
		w.mask = rest
	}
	w.park(split{pc: w.pc + 1, wait: waitBarrier, bar: clusterBarrier, in: in})
	return w.pick()
}

func (w *warp) arriveCluster(in *inst) bool {
	if bad := w.mask & (w.arrived | w.passed); bad != 0 {
		panic(w.laneFault(FaultBarrier, in, first(bad), "arrives at the cluster's barrier again without having waited"))
	}
	w.arrived |= w.mask
	w.pc++
	w.cta.group().tryOpen()
	if len(w.splits) != 0 {
		return w.reschedule(w.pc)
	}
	return true
}

// tryOpen opens the cluster's barrier if every live thread has arrived and at least one thread has
// arrived.
func (k *cluster) tryOpen() {
	some := false
	for _, c := range k.ctas {
		for _, w := range c.warps {
			if w.live&^w.arrived != 0 {
				return
			}
			some = some || w.arrived != 0
		}
	}
	if !some {
		return
	}
	for _, c := range k.ctas {
		for _, w := range c.warps {
			w.passBarrier()
		}
	}
	orderBlocks(k.ctas)
}

// passBarrier releases the lanes that wait at the cluster's barrier. Lanes that have arrived but do
// not wait yet will pass the barrier without waiting.
func (w *warp) passBarrier() {
	w.passed |= w.arrived & w.live
	w.arrived = 0
	for i := range w.splits {
		if s := &w.splits[i]; s.wait == waitBarrier && s.bar == clusterBarrier {
			s.wait = waitNone
			w.passed &^= s.mask
		}
	}
}

func (p *program) reachesCluster(slot int32) {
	if p.cluster == nil {
		p.cluster = map[int32]bool{}
	}
	p.cluster[slot] = true
}

// Cluster instructions: barrier.cluster, mapa, getctarank.

func init() {
	register(lowerMapa, "mapa")
	register(lowerCTARank, "getctarank")
}

func lowerClusterBarrier(l *lowerer, i *ptx.Instr, f *form) {
	ops := slices.DeleteFunc(slices.Clone(f.rest), func(m string) bool { return m == "cluster" })
	wait := slices.Equal(ops, []string{"wait"})
	if !l.args(i, 0, 0) || f.flags&^flagAligned != 0 || len(f.types) != 0 {
		l.unsupported()
		return
	}
	switch {
	case wait && (f.sem == "" || f.sem == "acquire"):
		l.barrierInstr(barClusterWait)
	case slices.Equal(ops, []string{"arrive"}) && (f.sem == "" || f.sem == "release" || f.sem == "relaxed"):
		l.barrierInstr(barClusterArrive)
	default:
		l.unsupported()
	}
}

func (l *lowerer) barrierInstr(aux uint16) {
	n := l.emit(nil, noReg)
	n.in.ctl, n.in.aux = ctlBarrier, aux
}

// lowerMapa lowers mapa, which converts an address in the block's own shared memory to the
// corresponding address in another block in the cluster.
func lowerMapa(l *lowerer, i *ptx.Instr, f *form) {
	window, ok := l.clusterForm(f)
	if !ok || !l.args(i, 3, 3) {
		return
	}
	a := l.clusterAddress(i.Args[1])
	rank := l.src(i.Args[2], ptx.U32)
	l.looseWidth = true
	d := l.dst(i.Args[0], f.typ())
	exec := func(w *warp, in *inst, m uint32) { w.mapa(in, m, window) }
	if d.class == class64 {
		l.emit(exec, d, a, rank)
		return
	}
	t := l.newReg(class64)
	l.emit(exec, t, a, rank)
	l.emit(execLow32, d, t)
}

//go:norace
func (w *warp) mapa(in *inst, m uint32, window uint64) {
	d, a, b := &w.r64[in.d], &w.r64[in.a], &w.r32[in.b]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = window | (uint64(b[i])+1)<<clusterShift | a[i]&(clusterBytes-1)
	}
}

// lowerCTARank lowers getctarank, which returns the rank of the block whose shared memory contains
// an address.
func lowerCTARank(l *lowerer, i *ptx.Instr, f *form) {
	_, ok := l.clusterForm(f)
	if !ok || !l.args(i, 2, 2) {
		return
	}
	a := l.clusterAddress(i.Args[1])
	l.emit(execCTARank, l.dst(i.Args[0], ptx.U32), a)
}

//go:norace
func execCTARank(w *warp, in *inst, m uint32) {
	d, a := &w.r32[in.d], &w.r64[in.a]
	own := w.cta.rank()
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = own
		if tag := a[i] & 0xffff_ffff >> clusterShift; tag != 0 {
			d[i] = uint32(tag) - 1
		}
	}
}

// clusterForm returns the address window for mapa and getctarank: shared memory for
// .shared::cluster, and the generic window otherwise.
func (l *lowerer) clusterForm(f *form) (window uint64, ok bool) {
	if len(f.types) != 1 || f.flags != 0 || f.typ() != ptx.U32 && f.typ() != ptx.U64 {
		l.unsupported()
		return 0, false
	}
	if f.spaces == 0 {
		return sharedWindow, true
	}
	if f.space != ptx.SharedSpace || !slices.Equal(f.rest, []string{"shared::cluster"}) {
		l.unsupported()
		return 0, false
	}
	return 0, true
}

// clusterAddress returns the column of an address operand, which is a register or a variable in
// shared memory.
func (l *lowerer) clusterAddress(o ptx.Operand) reg {
	l.looseWidth = true
	return l.src(o, ptx.U64)
}

// execIsShared is isspacep.shared::cta. It tests whether generic addresses refer to the block's own
// shared memory, directly or through the cluster window.
//
//go:norace
func execIsShared(w *warp, in *inst, m uint32) {
	a, own := &w.r64[in.a], uint64(w.cta.rank())+1
	var r uint32
	for k := m; k != 0; k &= k - 1 {
		i := first(k)
		tag := a[i] & 0xffff_ffff >> clusterShift
		if a[i]&windowMask == sharedWindow && (tag == 0 || tag == own) {
			r |= 1 << i
		}
	}
	w.setPred(in, r, m)
}

// st.async and red.async: stores and reductions to the shared memory of a block in the cluster.
// They signal an mbarrier object in that block.

// remoteMods returns the operation of red.async, or "". ok reports whether the form is supported.
func remoteMods(l *lowerer, f *form) (op string, ok bool) {
	for _, m := range f.rest {
		switch m {
		case "async", "shared::cluster", "mbarrier::complete_tx::bytes":
		default:
			if op != "" {
				return "", false
			}
			op = m
		}
	}
	// The .global form and the form without an mbarrier require a newer device.
	return op, f.space == ptx.SharedSpace && slices.Contains(f.rest, "mbarrier::complete_tx::bytes") && len(f.types) == 1
}

func lowerStAsync(l *lowerer, i *ptx.Instr, f *form) {
	op, ok := remoteMods(l, f)
	t := f.typ()
	if !ok || op != "" || f.flags != 0 || t.Size() < 4 || t == ptx.B128 || f.sem != "" && f.sem != "weak" {
		l.refuseRemote(f)
		return
	}
	if !l.args(i, 3, 3) {
		return
	}
	to, p := l.wideAddress(i.Args[0], ptx.SharedSpace)
	bar, b := l.wideAddress(i.Args[2], ptx.SharedSpace)
	l.looseWidth = true
	var vals []reg
	for _, o := range l.elems(i.Args[1], max(f.vec, 1)) {
		vals = append(vals, l.src(o, t))
	}
	size, imm := t.Size(), b.imm
	n := l.slot(l.emit(func(w *warp, in *inst, m uint32) { w.storeAsync(in, m, size, imm) }, noReg, to, bar))
	n.in.imm, n.in.aux = p.imm, spaceShared|log2(size*len(vals))<<accLog|accWrite|accSync
	for _, v := range vals {
		n.more(v, false)
	}
}

func (l *lowerer) refuseRemote(f *form) {
	if f.space == ptx.GlobalSpace {
		l.unsupported()
		return
	}
	l.unsupported()
}

//go:norace
func (w *warp) storeAsync(in *inst, m uint32, size int, barImm uint64) {
	w.synced = true
	w.pc = w.prog.pcOf(in, w.pc) // position for reports about the mbarrier object
	e, a := w.site(in), *w.addresses(in, true, m)
	bar := &w.r64[in.b]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		p := w.pointer(in, e, a[i], i)
		for k, r := range in.x.regs {
			q := unsafe.Add(p, k*size)
			if size == 8 {
				*(*uint64)(q) = w.r64[r][i]
			} else {
				*(*uint32)(q) = w.r32[r][i]
			}
		}
		w.completeBytes(in, spaceShared, bar[i]+barImm, size*len(in.x.regs), i)
	}
}

func lowerRedAsync(l *lowerer, i *ptx.Instr, f *form) {
	op, ok := remoteMods(l, f)
	t := f.typ()
	if !ok || f.flags != 0 || f.sem != "relaxed" || f.scope != "cluster" {
		l.refuseRemote(f)
		return
	}
	fn := atomicFunc(op, t)
	if fn == nil || !bulkReduces("shared::cluster", op, t) {
		l.bad("operation .%s on type .%s is not possible", op, t)
		return
	}
	if !l.args(i, 3, 3) {
		return
	}
	to, p := l.wideAddress(i.Args[0], ptx.SharedSpace)
	bar, b := l.wideAddress(i.Args[2], ptx.SharedSpace)
	v := l.src(i.Args[1], t)
	imm := b.imm
	n := l.slot(l.emit(func(w *warp, in *inst, m uint32) { w.reduceAsync(in, m, fn, imm) }, noReg, to, bar, v))
	n.in.imm, n.in.aux = p.imm, spaceShared|log2(t.Size())<<accLog|accWrite|accAtomic
}

//go:norace
func (w *warp) reduceAsync(in *inst, m uint32, fn atomicOp, barImm uint64) {
	w.synced = true
	w.pc = w.prog.pcOf(in, w.pc) // position for reports about the mbarrier object
	e, a := w.site(in), *w.addresses(in, true, m)
	bar := &w.r64[in.b]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		p := w.pointer(in, e, a[i], i)
		if in.size() == 8 {
			update64((*uint64)(p), fn, w.r64[in.c][i], 0)
		} else {
			update32((*uint32)(p), fn, w.r32[in.c][i], 0)
		}
		w.completeBytes(in, spaceShared, bar[i]+barImm, int(in.size()), i)
	}
}
