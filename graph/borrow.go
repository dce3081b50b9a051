package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Borrow returns a Graph for a handle that other code owns, for example a graph that another
// library captured. Closing it does not destroy the driver's graph. The owner must keep that graph
// until the Graph is closed, and must not change it in other ways in the meantime. The owner must
// also keep alive what its nodes refer to, see [Graph.Keep].
func Borrow(c *driver.Context, raw driver.CUgraph) (*Graph, error) {
	k, err := newKeep(c, "borrowed graph")
	if err != nil {
		return nil, err
	}
	if raw == 0 {
		return nil, k.abandon(invalid("the handle is 0"))
	}
	k.borrowed = true
	return own(c, k, raw), nil
}

// BorrowExec returns an Exec for a handle that other code owns and instantiated from g, whose nodes
// Set takes. If that graph is not available, use an empty one: the Exec can then be launched,
// waited for, uploaded and updated as a whole. Closing it does not destroy the driver's executable
// graph. The owner must keep that until the Exec is closed and its launches have ended, and must
// not launch or change it in the meantime, because CUDA does not allow concurrent use. Apply fails
// if it would have to instantiate.
func (g *Graph) BorrowExec(raw cu.CUgraphExec) (*Exec, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	if err := g.onlyWhole(driver.CUDA_ERROR_NOT_SUPPORTED, "that of an executable graph"); err != nil {
		return nil, err
	}
	k := &execKeep{raw: raw, ctx: g.ctx, borrowed: true}
	k.life.SetKind("borrowed executable graph")
	if err := k.life.BeginIn(g.ctx.Lifetime()); err != nil {
		return nil, err
	}
	if raw == 0 {
		return nil, k.life.Abandon(invalid("the handle is 0"))
	}
	k.refs = g.keep.refs.Share()
	x := &Exec{life: &k.life, ctx: g.ctx, d: g.d, keep: k, g: g}
	x.watch.Own(&k.life, uint64(raw), k)
	return x, nil
}
