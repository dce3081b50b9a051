package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Applied describes how Apply changed the Exec.
type Applied struct {
	// Update is the result of the update.
	Update UpdateResult
	// Reinstantiated is set when the Exec was instantiated anew, because the update failed as
	// described in Update. Set then takes the nodes of the new graph, and the graph must be
	// uploaded again.
	Reinstantiated bool
}

// String returns one line.
func (a Applied) String() string {
	if !a.Reinstantiated {
		return a.Update.String()
	}
	return a.Update.String() + "; instantiated anew"
}

// Apply changes the Exec to run g: by an update if the graphs are similar enough, else by
// instantiating g with the Exec's options. If it fails, the Exec is unchanged.
func (x *Exec) Apply(g *Graph) (Applied, error) {
	if err := x.lockWith(g); err != nil {
		return Applied{Update: UpdateResult{Result: cu.CU_GRAPH_EXEC_UPDATE_ERROR}}, err
	}
	defer x.unlockWith(g)
	r, err := x.update(g)
	if err != nil || r.Updated() {
		return Applied{Update: r}, err
	}
	if x.keep.borrowed {
		return Applied{Update: r}, refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"%v is borrowed, so it cannot be instantiated anew from %v: it was %v", x, g, r)
	}
	if err := x.reinstantiate(g); err != nil {
		return Applied{Update: r}, err
	}
	return Applied{Update: r, Reinstantiated: true}, nil
}

// reinstantiate replaces the driver's object.
func (x *Exec) reinstantiate(g *Graph) error {
	raw, err := g.instantiate(x.opts)
	if err != nil {
		return err
	}
	k := x.keep
	old := k.raw
	k.raw = raw
	k.retire(keeper{sub: k.own})
	k.own = g.keep.own.share()
	k.mem = g.keep.own.mem.launches(x.opts.flags)
	departed := k.depart()
	x.g, x.foreign = g, false
	x.uploaded, x.changed = x.opts.upload != nil, false
	x.updates++
	lone := k.lone
	k.lone = g.loneExec()
	err = x.ctx.Guarded().CuGraphExecDestroy(old)
	lone.gone()
	if err := join([]error{err, departed}); err != nil {
		return fmt.Errorf("the executable graph that was replaced: %w", err)
	}
	return nil
}
