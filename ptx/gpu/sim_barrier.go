package gpu

import (
	"fmt"
)

// blockBarrier is the barrier of Sync and its variants.
type blockBarrier struct {
	arrived []*thread
	count   uint64 // number of threads whose predicate is true
}

var syncNames = [...]string{"Sync", "SyncCount", "SyncAnd", "SyncOr"}

// syncBlock waits for all threads of the block and returns the number of threads whose predicate is
// true.
func (t Thread) syncBlock(kind int, pred bool) int {
	s := t.self()
	b := s.block
	b.unit.mu.Lock()
	defer b.unit.mu.Unlock()
	b.sync.arrived = append(b.sync.arrived, s)
	if pred {
		b.sync.count++
	}
	s.wait, s.call = waitFor{call: syncNames[kind]}, callerPC(2)
	if !b.trySync() {
		s.park(s.wait)
	}
	return int(s.result)
}

// trySync completes the barrier if all threads of the block have arrived. The caller must hold the
// lock.
func (b *block) trySync() bool {
	all := b.sync.arrived
	if len(all) == 0 || len(all) < b.alive {
		return false
	}
	if odd, first := divergent(all); odd != nil {
		b.diverged(odd, first)
		return false
	}
	for _, s := range all {
		s.result = b.sync.count
		if s.parked {
			s.release()
		}
	}
	b.sync = blockBarrier{arrived: all[:0]}
	return true
}

// divergent returns two waiting threads. first is the thread with the lowest rank. odd is the
// thread with the lowest rank among those that wait at a different line than first.
func divergent(all []*thread) (odd, first *thread) {
	first = all[0]
	for _, s := range all {
		if s.rank < first.rank {
			first = s
		}
	}
	for _, s := range all {
		if (odd == nil || s.rank < odd.rank) && !sameLine(s.call, first.call) {
			odd = s
		}
	}
	return odd, first
}

// diverged reports a failure of a thread that waits at a different barrier than the first thread.
func (b *block) diverged(odd, first *thread) {
	odd.fail(false, func() error {
		f := frameOf(odd.call)
		return &Panic{Block: b.index, Thread: odd.index, Frame: f, Stack: position(f),
			Value: fmt.Errorf("the threads of a block are at different barriers: this thread is in %s, and thread %s is in %s at %s",
				odd.wait, index(first.index), first.wait, position(frameOf(first.call)))}
	})
	b.unit.failed = true
}

// namedBarrier is a barrier that BarrierSync and BarrierArrive use.
type namedBarrier struct {
	count, arrived int
	waiters        []*thread
}

func (t Thread) namedBarrier(id, count int, wait bool) {
	s := t.self()
	b := s.block
	switch {
	case id < 1 || id > 15:
		panic(fmt.Errorf("barrier %d does not exist: the named barriers are 1 to 15", id))
	case count < 1 || count%WarpSize != 0 || count > (len(b.threads)+WarpSize-1)/WarpSize*WarpSize:
		panic(fmt.Errorf("barrier %d for %d threads: the count must be a multiple of %d and at most the size of the block, %d",
			id, count, WarpSize, len(b.threads)))
	}
	b.unit.mu.Lock()
	defer b.unit.mu.Unlock()
	n := &b.named[id]
	if n.arrived > 0 && n.count != count {
		panic(fmt.Errorf("barrier %d is for %d threads here, and for %d in an earlier call", id, count, n.count))
	}
	n.count = count
	if n.arrived++; n.arrived == count {
		for _, w := range n.waiters {
			w.release()
		}
		*n = namedBarrier{waiters: n.waiters[:0]}
		return
	}
	if wait {
		n.waiters = append(n.waiters, s)
		s.park(waitFor{call: "BarrierSync", id: id, count: count})
	}
}

// phases is the barrier of a cluster or a grid.
type phases struct {
	phase, arrived, alive int
	waiters               []*thread
}

// phaseOf is the state of a single thread at a barrier of a cluster or a grid.
type phaseOf struct {
	phase   int
	arrived bool // the thread has arrived but has not waited yet
}

func (p *phases) arrive(of *phaseOf) {
	*of = phaseOf{p.phase, true}
	p.arrived++
	p.try()
}

// leave removes a thread that has exited.
func (p *phases) leave(of *phaseOf) {
	p.alive--
	if of.arrived && of.phase == p.phase {
		p.arrived--
	}
	p.try()
}

func (p *phases) try() {
	if p.arrived == 0 || p.arrived < p.alive {
		return
	}
	p.phase++
	p.arrived = 0
	for _, s := range p.waiters {
		s.release()
	}
	p.waiters = p.waiters[:0]
}

// wait waits until the phase in which the thread arrived is complete.
func (p *phases) wait(s *thread, of *phaseOf, call string) {
	of.arrived = false
	if of.phase == p.phase {
		p.waiters = append(p.waiters, s)
		s.park(waitFor{call: call})
	}
}

func (t Thread) clusterArrive() {
	s := t.self()
	s.block.unit.mu.Lock()
	defer s.block.unit.mu.Unlock()
	if s.cluster.arrived {
		panic(fmt.Errorf("ClusterArrive was called twice: call ClusterWait between the calls"))
	}
	s.block.cluster.sync.arrive(&s.cluster)
}

func (t Thread) clusterWait() {
	if t.s == nil {
		return
	}
	s := t.s
	s.block.unit.mu.Lock()
	defer s.block.unit.mu.Unlock()
	if !s.cluster.arrived {
		panic(fmt.Errorf("ClusterWait was called without ClusterArrive"))
	}
	s.block.cluster.sync.wait(s, &s.cluster, "ClusterWait")
}

func (t Thread) gridSync() {
	s := t.self()
	u := s.block.unit
	if !u.lone && !u.grid.cooperative {
		panic(fmt.Errorf("GridSync requires a cooperative launch: pass gpu.Cooperative() to gpu.Run"))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sync.arrive(&s.grid)
	u.sync.wait(s, &s.grid, "GridSync")
}
