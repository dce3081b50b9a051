package graph

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// exists reports whether g is a graph of this package's making.
func (g *Graph) exists() bool { return g != nil && g.ctx != nil }

// lock takes the graph for a call, unless it is closed or none.
func (g *Graph) lock() error {
	if !g.exists() {
		return aGraph.Error(g == nil)
	}
	mu := g.latchNow()
	mu.Lock()
	if !g.shut && !g.part && g.rec == nil {
		return nil
	}
	g.retake(mu)
	if err := g.closed(); err != nil {
		g.mu.Unlock()
		return err
	}
	return nil
}

// closed says why the graph cannot be used, if so.
func (g *Graph) closed() error {
	switch {
	case g.lost != nil:
		return g.lost
	case g.part && g.shut:
		return fmt.Errorf("graph in a node that was destroyed: %w", driver.ErrClosed)
	case g.outermost().rec != nil:
		return g.outermost().rec.broken()
	}
	return g.life.Check()
}

// lockBoth takes two graphs for a call that concerns both.
func lockBoth(a, b *Graph) (unlock func(), err error) {
	for _, g := range [...]*Graph{a, b} {
		if !g.exists() {
			return nil, aGraph.Error(g == nil)
		}
	}
	if a.latchNow() == b.latchNow() {
		return nil, invalid("%v and %v are the same graph, or one is a part of the other", a, b)
	}
	if a.lockSeq() > b.lockSeq() {
		a, b = b, a
	}
	if err := a.lock(); err != nil {
		return nil, err
	}
	if err := b.lock(); err != nil {
		a.mu.Unlock()
		return nil, err
	}
	return func() { b.mu.Unlock(); a.mu.Unlock() }, nil
}

// latchNow and setLatch are for g.mu, which changes when a graph is moved into
// another. Whoever holds the latch may read the field as it is.
func (g *Graph) latchNow() *loader.Latch {
	return (*loader.Latch)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&g.mu))))
}

func (g *Graph) setLatch(mu *loader.Latch) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&g.mu)), unsafe.Pointer(mu))
}

// lockSeq orders the latches of graphs: a graph and its parts have the same.
func (g *Graph) lockSeq() uint64 { return atomic.LoadUint64(&g.seq) }

// lockLatch takes g.mu, whichever that is once it was got.
func (g *Graph) lockLatch() {
	mu := g.latchNow()
	mu.Lock()
	g.retake(mu)
}

// retake is for who got mu, which may have been g's until somebody moved g.
func (g *Graph) retake(mu *loader.Latch) {
	for now := g.latchNow(); now != mu; now = g.latchNow() {
		mu.Unlock()
		mu = now
		mu.Lock()
	}
}
