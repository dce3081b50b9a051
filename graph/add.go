package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Add adds a node that does op after deps, which must be nodes of the same graph. Without deps it
// runs when the graph begins. The graph keeps alive what op refers to. op itself may be changed and
// reused at once, because the driver has copied its parameters. For nodes of other graphs and
// operations of other drivers, the error is CUDA_ERROR_INVALID_VALUE. A copy of no bytes becomes an
// empty node.
//
// op may be of another context or device than the graph, and runs there. Copies may use memory of
// several devices, as may kernels that have access to it.
//
// The launch of an Exec ([Exec.Op]) becomes a child graph.
func (g *Graph) Add(op driver.Op, deps ...Node) (Node, error) {
	if l, ok := op.(*launchOp); ok {
		return l.addTo(g, deps)
	}
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	n, err := g.add(op, deps)
	g.mu.Unlock()
	runtime.KeepAlive(op)
	g.alive()
	if err != nil {
		return Node{}, g.addError(op, err)
	}
	return n, nil
}

func (g *Graph) add(op driver.Op, deps []Node) (Node, error) {
	if l, ok := op.(*driver.Launch); ok && l.Context() == g.ctx {
		return g.addLaunch(l, deps)
	}
	if err := g.accepts(op); err != nil {
		return Node{}, err
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	o := g.changeRefs()
	if err := o.Retain(op.Refs()); err != nil {
		return Node{}, err
	}
	var raw cu.CUgraphNode
	if err := g.addRaw(&raw, from, uintptr(len(deps)), op); err != nil {
		o.Abandon()
		o.Flush()
		return Node{}, err
	}
	g.commitNew(o)
	g.accesses.Op(len(g.raws), op)
	return g.added(raw), nil
}

// addLaunch is a fast path of Add for the most frequent operation. It makes adding kernels nearly
// as fast as in C.
func (g *Graph) addLaunch(l *driver.Launch, deps []Node) (Node, error) {
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	o := g.changeRefs()
	again := !g.part && o.RefersToLaunch(len(o.Nodes)-1, l)
	if !again {
		if err := o.Retain(l.Refs()); err != nil {
			return Node{}, err
		}
	}
	var raw cu.CUgraphNode
	if err := g.addKernel(&raw, from, uintptr(len(deps)), l); err != nil {
		o.Abandon()
		o.Flush()
		return Node{}, err
	}
	if again {
		o.CommitAgain(1)
	} else {
		g.commitNew(o)
	}
	g.accesses.Launch(len(g.raws), l)
	return g.added(raw), nil
}

func (g *Graph) addError(op driver.Op, err error) error {
	if op == nil {
		return fmt.Errorf("cannot add to %v: %w", g, err)
	}
	return fmt.Errorf("cannot add %v to %v: %w", op, g, err)
}

// accepts rejects operations of other drivers, and in a body those that CUDA does not support
// there. It records operations of other contexts and devices: see setRaw.
func (g *Graph) accepts(op driver.Op) error {
	if g.part && g.inBody() {
		if err := bodyTakes(op); err != nil {
			return err
		}
	}
	if err := refusal.Operation(g.ctx, op); err != nil {
		return err
	}
	if elsewhere(g.ctx, op) {
		g.outermost().mixed = true
	}
	return nil
}

// elsewhere reports whether op creates a node that names a context other than ctx.
func elsewhere(ctx *driver.Context, op driver.Op) bool {
	switch op.(type) {
	case *driver.CopyOp, *driver.FillOp:
		c := op.Context()
		return c != ctx && c.Raw() != ctx.Raw()
	}
	return false
}

// dependencies returns the handles of nodes as C takes them. A single handle is used in place, more
// are copied to a buffer.
func (g *Graph) dependencies(deps []Node) (*cu.CUgraphNode, error) {
	if len(deps) == 0 {
		return nil, nil
	}
	for i := range deps {
		if err := g.check(deps[i]); err != nil {
			return nil, err
		}
	}
	if len(deps) == 1 {
		return &g.raws[deps[0].i], nil
	}
	g.from = g.from[:0]
	for i := range deps {
		g.from = append(g.from, deps[i].handle())
	}
	return &g.from[0], nil
}

// AddEmpty adds a node that does nothing, for other nodes to depend on.
func (g *Graph) AddEmpty(deps ...Node) (Node, error) {
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	defer g.mu.Unlock()
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, fmt.Errorf("cannot add an empty node to %v: %w", g, err)
	}
	var raw cu.CUgraphNode
	if err := g.d.CuGraphAddEmptyNode(&raw, g.raw, from, uintptr(len(deps))); err != nil {
		return Node{}, fmt.Errorf("cannot add an empty node to %v: %w", g, err)
	}
	g.commitNew(g.changeRefs())
	return g.added(raw), nil
}
