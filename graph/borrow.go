package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Borrow returns a Graph for a handle that other code owns, for example a graph
// that another library captured. Everything that can be done with a Graph can be
// done with it; closing it leaves the driver's graph alone. The owner keeps that one
// until the Graph is closed, and nobody changes it in another way meanwhile. What
// its nodes refer to is the owner's to keep as well, see [Graph.Keep].
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

// BorrowExec returns an Exec for a handle that other code owns and made from g: g's
// nodes are those that Set takes. Where that graph is not at hand an empty one does,
// and the Exec can be launched, waited for, uploaded and updated as a whole. Closing
// it leaves the driver's executable graph alone. The owner keeps that one until the
// Exec is closed and its launches have ended, and does not launch or change it
// meanwhile: CUDA does not allow that from two places at a time. Apply, which may
// have to instantiate anew, updates it or fails.
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
	k.own = g.keep.own.share()
	x := &Exec{life: &k.life, ctx: g.ctx, d: g.d, keep: k, g: g}
	x.watch.Own(&k.life, uint64(raw), k)
	return x, nil
}
