package vm

import (
	"fmt"
	"unsafe"
)

// Clusters: blocks that run concurrently and can access each other's shared memory. All blocks of a
// cluster run on one goroutine, in turn, so what they share needs no locks.

// mapa makes the address (r+1)<<clusterShift + b for byte b of the shared memory of the cluster's
// block r. Lower addresses are the block's own. No block has so much shared memory that the two
// could be confused.
const (
	clusterShift = 24
	clusterBytes = 1 << clusterShift
)

// cluster is what the blocks of a cluster share. Its first block represents it in the launch's
// lists.
type cluster struct {
	ctas  []*cta // by rank
	ended []bool
	stuck int // turns in which all blocks waited, see stuck.go
}

// group returns the block's cluster. A block of a launch without clusters is a cluster of its own.
func (c *cta) group() *cluster {
	if c.cluster == nil {
		c.cluster = &cluster{ctas: []*cta{c}, ended: make([]bool, 1)}
	}
	return c.cluster
}

// rank returns the block's position in its cluster.
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

// startCluster prepares all blocks of cluster i of the grid and returns the first.
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

// step runs the blocks of the cluster for a while, each in turn.
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

// end records that a block has ended: the others must not access its shared memory any more.
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

// waitsForCluster reports whether one of the block's warps waits for other
// blocks.
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

// member returns the block with a rank, for an access of lane i.
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

// reachCluster is reach for the shared memory of a block of the cluster. p is the address in shared
// memory, and window is what a generic address has in addition.
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

// clusterBarrier is the number of the cluster's barrier in a split.
const clusterBarrier = numBarriers

// The forms of barrier.cluster, in inst.aux, after those of bar.
const (
	barClusterArrive = barRedOr + 1 + iota
	barClusterWait
)

// barrierCluster executes barrier.cluster for the running split.
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

// tryOpen opens the cluster's barrier if every thread that has not exited has
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

// passBarrier releases the lanes that wait at the cluster's barrier. Those that have arrived but do
// not wait yet will not have to.
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

// reachesCluster records that a memory instruction may access other blocks.
func (p *program) reachesCluster(slot int32) {
	if p.cluster == nil {
		p.cluster = map[int32]bool{}
	}
	p.cluster[slot] = true
}
