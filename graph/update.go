package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/absent"
)

// UpdateResult is the result of an update: success, or the reason why the update is impossible. An
// Exec that was neither updated nor instantiated anew is unchanged.
type UpdateResult struct {
	Result cu.CUgraphExecUpdateResult
	// Node is the first node of the new graph that does not fit. It is zero if the driver did not
	// report one.
	Node Node
	// FromNode is set if the edge from FromNode to Node does not fit (drivers from CUDA 12.0).
	FromNode Node
	// Name is the name of Node or, if it has none, its kernel's name (drivers from CUDA 12.3). It
	// is "" if neither is known.
	Name string
	// Reinstantiated reports that Update instantiated the Exec anew (WithReinstantiate), because an
	// update was impossible for the reason in the other fields. Set then accepts the nodes of the
	// new graph, and the Exec must be uploaded again.
	Reinstantiated bool
}

// Updated reports whether the Exec was updated. It is false if the Exec was instantiated anew.
func (r UpdateResult) Updated() bool { return r.Result == cu.CU_GRAPH_EXEC_UPDATE_SUCCESS }

// Reason describes Result in words. If the update succeeded, it returns "".
func (r UpdateResult) Reason() string {
	switch r.Result {
	case cu.CU_GRAPH_EXEC_UPDATE_SUCCESS:
		return ""
	case cu.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED:
		return "the nodes or their dependencies differ"
	case cu.CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED:
		return "a node has a different type"
	case cu.CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED:
		return "a node has a different kernel, and this driver cannot change kernels"
	case cu.CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED:
		return "a parameter changed that an update cannot change, such as the context of memory, or whether a copy's memory is of a pool or arena"
	case cu.CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED:
		return "a node cannot be updated"
	case cu.CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE:
		return "a node's kernel changed in a way that an update cannot follow, such as to another context"
	case cu.CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED:
		return "a launch attribute of a node changed that an update cannot change"
	}
	return "the driver gave no reason"
}

// String returns "updated", or the reason and the node, in one line.
func (r UpdateResult) String() string {
	if r.Reinstantiated {
		r.Reinstantiated = false
		return r.String() + "; instantiated anew"
	}
	switch {
	case r.Updated():
		return "updated"
	case r.Node.IsZero():
		return "not updated: " + r.Reason()
	case r.FromNode.IsZero():
		return fmt.Sprintf("not updated: %s: %s", r.Reason(), r.node())
	}
	return fmt.Sprintf("not updated: %s: from %v to %s", r.Reason(), r.FromNode, r.node())
}

// Update sets the parameters of the Exec to those of g. g must have the same nodes with the same
// dependencies, added in the same order, as the graph that the Exec was instantiated from.
// Otherwise the UpdateResult has the reason, and the error is nil. With WithReinstantiate, Update
// instantiates g if an update is impossible. After an update, Set still accepts the nodes of the
// Exec's original graph.
func (x *Exec) Update(g *Graph, opts ...UpdateOption) (UpdateResult, error) {
	if err := x.lockWith(g); err != nil {
		return UpdateResult{Result: cu.CU_GRAPH_EXEC_UPDATE_ERROR}, err
	}
	defer x.unlockWith(g)
	r, err := x.update(g)
	if err != nil || r.Updated() || len(opts) == 0 || !updateOptionsOf(opts).reinstantiate {
		return r, err
	}
	if x.keep.borrowed {
		return r, refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"%v is borrowed, so it cannot be instantiated anew from %v: it was %v", x, g, r)
	}
	if err := x.reinstantiate(g); err != nil {
		return r, err
	}
	r.Reinstantiated = true
	return r, nil
}

// UpdateOption configures Update.
type UpdateOption func(*updateOptions)

type updateOptions struct{ reinstantiate bool }

// WithReinstantiate makes Update instantiate the graph anew, with the Exec's options, if the graphs
// are not similar enough for an update. If that fails, the Exec is unchanged.
func WithReinstantiate() UpdateOption {
	return func(o *updateOptions) { o.reinstantiate = true }
}

func updateOptionsOf(opts []UpdateOption) updateOptions {
	var o updateOptions
	absent.Apply(opts, &o)
	return o
}

// reinstantiate replaces the driver's executable graph with a new one instantiated from g.
func (x *Exec) reinstantiate(g *Graph) error {
	raw, err := g.instantiate(x.opts)
	if err != nil {
		return err
	}
	k := x.keep
	old := k.raw
	k.raw = raw
	k.ReleaseLater(retain.Reference{Of: k.refs})
	k.refs = g.keep.refs.Share()
	k.turns |= memoryChanged
	k.Mem = g.keep.refs.Mem.Launches(x.opts.flags)
	oldClosed := k.Replaced()
	x.g, x.foreign = g, false
	x.uploaded, x.changed = x.opts.upload != nil, false
	x.updates++
	oldCount := k.count
	k.count = g.countExec()
	err = x.ctx.Guarded().CuGraphExecDestroy(old)
	oldCount.remove()
	if err := join([]error{err, oldClosed}); err != nil {
		return fmt.Errorf("the executable graph that was replaced: %w", err)
	}
	return nil
}

// lockWith locks the Exec, then g. The lock order is always Exec before Graph.
func (x *Exec) lockWith(g *Graph) error {
	if err := x.lock(); err != nil {
		return err
	}
	if err := g.lock(); err != nil {
		x.keep.mu.Unlock()
		return err
	}
	if err := x.takes(g); err != nil {
		x.unlockWith(g)
		return err
	}
	return nil
}

func (x *Exec) unlockWith(g *Graph) {
	g.mu.Unlock()
	x.keep.mu.Unlock()
}

// takes returns the reason why the Exec cannot be updated from g, or nil.
func (x *Exec) takes(g *Graph) error {
	switch {
	case g.moved:
		return g.onlyWhole(driver.CUDA_ERROR_INVALID_VALUE, "taken for an update")
	case g.ctx != x.ctx && g.ctx.Raw() != x.ctx.Raw():
		return invalid("%v is of %v, %v of %v", g, g.ctx, x, x.ctx)
	}
	return nil
}

func (x *Exec) update(g *Graph) (UpdateResult, error) {
	if err := g.fillBodies(); err != nil {
		return UpdateResult{Result: cu.CU_GRAPH_EXEC_UPDATE_ERROR}, fmt.Errorf("cannot update %v from %v: %w", x, g, err)
	}
	info, err := x.execUpdate(g)
	g.alive()
	if err != nil && !isRefusal(err, info.Result) {
		return UpdateResult{Result: cu.CU_GRAPH_EXEC_UPDATE_ERROR}, fmt.Errorf("cannot update %v from %v: %w", x, g, err)
	}
	if info.Result == cu.CU_GRAPH_EXEC_UPDATE_SUCCESS {
		x.adopt(g)
		return UpdateResult{}, nil
	}
	r := UpdateResult{Result: info.Result, Node: g.member(info.ErrorNode), FromNode: g.member(info.ErrorFromNode)}
	r.Name = r.Node.called()
	return r, nil
}

// isRefusal reports whether err and r mean that the update is impossible, rather than that the call
// failed.
func isRefusal(err error, r cu.CUgraphExecUpdateResult) bool {
	return resultOf(err) == driver.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE &&
		r != cu.CU_GRAPH_EXEC_UPDATE_SUCCESS
}

// execUpdate calls the newest ABI that the driver has. Since CUDA 12.0 the driver reports the
// failing edge. The call is guarded so that it does not invalidate a capture of other code.
func (x *Exec) execUpdate(g *Graph) (info cu.CUgraphExecUpdateResultInfo, err error) {
	d := x.ctx.Guarded()
	x.uploaded, x.changed = false, true
	if d.Has(cu.FnCuGraphExecUpdate) {
		err = d.CuGraphExecUpdate(x.keep.raw, g.raw, &info)
		return info, err
	}
	err = d.CuGraphExecUpdate_v10020(x.keep.raw, g.raw, &info.ErrorNode, &info.Result)
	return info, err
}

func (x *Exec) adopt(g *Graph) {
	x.updates++
	k := x.keep
	if k.refs == g.keep.refs {
		return
	}
	k.ReleaseLater(retain.Reference{Of: k.refs})
	k.refs = g.keep.refs.Share()
	k.turns |= memoryChanged
	x.foreign = g != x.g
	k.Sweep()
}

// node formats r.Node, with its kernel's name if it has no name of its own.
func (r UpdateResult) node() string {
	if r.Name == "" || r.Name == r.Node.Name() {
		return r.Node.String()
	}
	return fmt.Sprintf("%v (%s)", r.Node, r.Name)
}
