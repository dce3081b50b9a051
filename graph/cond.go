package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
)

// Cond is the condition of one conditional node: a 32-bit number on the device, which kernels of
// the graph set and the node reads when it runs. It is a small value that belongs to the graph it
// was created for.
//
// Kernels can take a Cond as an argument and set it themselves. They declare the parameter as .u64
// and call this device function:
//
//	.extern .func cudaGraphSetConditional(.param .b64 cond, .param .b32 value);
//
// In CUDA C++ it is cudaGraphSetConditional(cond, value). Only kernels that run as nodes of the
// condition's graph may call it. If you have no such kernel, use the operations of Set, SetTo,
// SetWhen and Within.
type Cond struct {
	g   *Graph // the outermost
	raw cu.CUgraphConditionalHandle
}

// Handle returns the driver's handle, 0 for the zero Cond.
func (c Cond) Handle() cu.CUgraphConditionalHandle { return c.raw }

// ArgWord returns the handle as a kernel takes it.
func (c Cond) ArgWord() uint64 { return uint64(c.raw) }

// Graph returns the outermost graph that the condition belongs to.
func (c Cond) Graph() *Graph { return c.g }

// String describes the condition.
func (c Cond) String() string {
	if c.g == nil {
		return "no condition"
	}
	return fmt.Sprintf("condition %#x", uint64(c.raw))
}

// CondOption changes how NewCond makes a condition.
type CondOption func(*condOptions)

type condOptions struct {
	initial uint32
	assign  bool
}

// WithDefault sets the condition's value at the beginning of each launch. Without it, the value is
// the one set last, even by an earlier launch, and undefined before the first.
func WithDefault(v uint32) CondOption {
	return func(o *condOptions) { o.initial, o.assign = v, true }
}

// NewCond creates a condition for one conditional node of this graph, or of a graph nested in it at
// any depth (CUDA 12.3). A graph with a condition that no node uses cannot be instantiated.
func (g *Graph) NewCond(opts ...CondOption) (Cond, error) {
	var o condOptions
	absent.Apply(opts, &o)
	home, err := g.home()
	if err != nil {
		return Cond{}, err
	}
	defer home.mu.Unlock()
	c, err := home.newCond(o)
	if err != nil {
		return Cond{}, fmt.Errorf("cannot make a condition for %v: %w", g, err)
	}
	return c, nil
}

// home returns the graph, locked, that the conditions of nodes of g belong to:
// the outermost one, and for a body that is being recorded that of the body.
func (g *Graph) home() (*Graph, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	if g.rec == nil || g.rec.home == nil {
		return g.outermost(), nil
	}
	home := g.rec.home
	g.mu.Unlock() // it comes after the other one
	return home, home.lock()
}

func (g *Graph) newCond(o condOptions) (Cond, error) {
	flags := uint32(0)
	if o.assign {
		flags = cu.CU_GRAPH_COND_ASSIGN_DEFAULT
	}
	c := Cond{g: g}
	err := g.d.CuGraphConditionalHandleCreate(&c.raw, g.raw, g.ctx.Raw(), o.initial, flags)
	g.alive()
	return c, err
}

// usable reports whether a new node of g may use the condition.
func (c Cond) usable(g *Graph) error {
	switch {
	case c.g == nil:
		return aCond.Error(false)
	case c.g != g.outermost():
		return invalid("%v is of %v, make one of this graph", c, c.g)
	}
	if n, used := c.g.conds.user(c); used {
		return invalid("%v is that of %v already, a condition is for one node", c, n)
	}
	return nil
}
