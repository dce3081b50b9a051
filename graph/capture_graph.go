package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
)

// Graph returns the graph that is being recorded, to inspect it and to add nodes to it. The capture
// returns the same graph when it ends. Added nodes run where their dependencies say. To make later
// recorded work run after them, use SetDependencies.
//
// Until the capture ends the graph cannot be closed, and nodes cannot be destroyed. If the capture
// fails, it is closed.
func (sc *Scope) Graph() (*Graph, error) {
	r, err := sc.lockUsable()
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	return r.graph()
}

// graph returns the Graph of what is recorded. It exists when it is first
// needed: with it, operations are recorded under its lock.
func (r *recording) graph() (*Graph, error) {
	if r.g != nil {
		return r.g, nil
	}
	i, err := r.info(r.s)
	if err != nil {
		return nil, fmt.Errorf("capture of %v: %w", r.s, err)
	}
	if err := i.active(r); err != nil {
		return nil, err
	}
	r.g = own(r.s.Context(), r.made, i.graph)
	r.g.lockLatch()
	defer r.g.mu.Unlock()
	r.g.rec = r
	return r.g, nil
}

// release takes the capture out of its graph.
func (r *recording) release() {
	r.g.lockLatch()
	defer r.g.mu.Unlock()
	r.g.rec = nil
}

// refuses says that what a capture records into cannot be changed so.
func (r *recording) refuses(what string) error {
	return refuse(driver.CUDA_ERROR_ILLEGAL_STATE,
		"%v cannot be %s: a capture of %v that began at %v records into it, end that first", r.g, what, r.s, &r.where)
}

// captured refuses the destruction of a node while a capture records into its
// graph. CUDA does not allow for it.
func (n Node) captured() error {
	if n.g.rec == nil {
		return nil
	}
	return fmt.Errorf("node %d cannot be destroyed: %w", n.i, n.g.rec.refuses("changed so"))
}

// lose ends a graph that the driver destroyed when the capture into it failed,
// also one that the program gave to the capture (seen on driver 580).
func (g *Graph) lose(r *recording) {
	g.lockLatch()
	defer g.mu.Unlock()
	g.shut = true
	g.lost = fmt.Errorf("CUDA destroyed %v when the capture into it failed that began at %v: %w", g, &r.where, driver.ErrClosed)
	g.giveTable()
	if g.life.Disown() {
		g.keep.refs.Release()
		g.keep.refs = nil
	}
}

// broken says that the graph is not to be touched, if so: the driver may have
// destroyed what an invalidated capture recorded.
func (r *recording) broken() error {
	if r.s.Raw() == cu.CU_STREAM_PER_THREAD && hostthread.ThreadID() != r.thread {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
			"%v is being captured from %v: until that ends only its goroutine may use it", r.g, r.s)
	}
	i, err := r.info(r.s)
	if err != nil {
		return err
	}
	return i.active(r)
}
