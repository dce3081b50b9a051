package emulator

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// condition is a conditional handle: a value that kernels set and a
// conditional node reads.
type condition struct {
	handle  uintptr
	e       *Emulator
	graph   *graph
	ctx     *cudaContext
	initial uint32
	assign  bool // initial is assigned at each launch
	used    bool // by a node
	value   atomic.Uint32
}

var conditionalFunctions = functions{
	"cuGraphConditionalHandleCreate": {cuGraphConditionalHandleCreate, afterInit},
}

func cuGraphConditionalHandleCreate(c call) result {
	g, r := graphAt(c, 1)
	if r != success {
		return r
	}
	ctx, r := c.contextOr(driver.CUcontext(c.Word(2)))
	flags := c.Uint32(4)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || flags&^uint32(driver.CU_GRAPH_COND_ASSIGN_DEFAULT) != 0:
		return errInvalidValue
	}
	h := &condition{e: c.e, graph: g, ctx: ctx, initial: c.Uint32(3), assign: flags != 0}
	h.handle = c.e.register(h)
	g.handles = append(g.handles, h)
	return put(c, 0, uint64(h.handle))
}

// unusedCondition reports a handle of the graph, or of a graph in it, that no
// node uses.
func (g *graph) unusedCondition() bool {
	for _, h := range g.handles {
		if !h.used {
			return true
		}
	}
	for _, n := range g.nodes {
		if o, ok := n.params.(nested); ok {
			for _, inner := range o.graphs() {
				if inner.unusedCondition() {
					return true
				}
			}
		}
	}
	return false
}

// conditionalNode runs its bodies depending on a handle's value.
type conditionalNode struct {
	cond   *condition
	form   driver.CUgraphConditionalNodeType
	bodies []*graph
}

func (*conditionalNode) kind() driver.CUgraphNodeType { return driver.CU_GRAPH_NODE_TYPE_CONDITIONAL }

// run is not used: an executable has the bodies' steps.
func (*conditionalNode) run(*execution) result { return errLaunchFailed }

func (n *conditionalNode) graphs() []*graph { return n.bodies }

// conditionalFrom makes a conditional node and its empty body graphs, whose
// handles it returns in an array that belongs to the node.
func (c call) conditionalFrom(g *graph, p *driver.CUDA_CONDITIONAL_NODE_PARAMS) (*conditionalNode, result) {
	h := find[condition](c.e, uintptr(p.Handle))
	if h == nil || h.used || h.graph.root() != g.root() || (p.Ctx != 0 && uintptr(p.Ctx) != h.ctx.handle) {
		return nil, errInvalidValue
	}
	switch {
	case p.Type > driver.CU_GRAPH_COND_TYPE_SWITCH, p.Size == 0,
		p.Type == driver.CU_GRAPH_COND_TYPE_WHILE && p.Size != 1,
		p.Type == driver.CU_GRAPH_COND_TYPE_IF && p.Size > 2:
		return nil, errInvalidValue
	}
	n := &conditionalNode{cond: h, form: p.Type}
	handles := make([]driver.CUgraph, p.Size)
	for i := range handles {
		body := c.e.newGraph()
		n.bodies = append(n.bodies, body)
		handles[i] = driver.CUgraph(body.handle)
	}
	h.used = true
	p.PhGraph_out = &handles[0]
	c.e.keep(h.handle, handles)
	return n, success
}

// resetConditions assigns the default values, at the beginning of a launch.
func (run *graphRun) resetConditions(e *Emulator, p *plan) {
	for i := range p.steps {
		if n, ok := p.steps[i].params.(*conditionalNode); ok && n.cond.assign {
			n.cond.value.Store(n.cond.initial)
		}
		for _, inner := range p.steps[i].inner {
			run.resetConditions(e, inner)
		}
	}
}

// conditional runs the bodies of a conditional node.
func (run *graphRun) conditional(x *execution, n *conditionalNode, bodies []*plan) result {
	switch v := n.cond.value.Load(); n.form {
	case driver.CU_GRAPH_COND_TYPE_IF:
		if v != 0 {
			return run.steps(x, bodies[0])
		}
		if len(bodies) > 1 {
			return run.steps(x, bodies[1])
		}
	case driver.CU_GRAPH_COND_TYPE_SWITCH:
		if v < uint32(len(bodies)) {
			return run.steps(x, bodies[v])
		}
	case driver.CU_GRAPH_COND_TYPE_WHILE:
		for n.cond.value.Load() != 0 {
			if x.e.running.Err() != nil {
				return errLaunchFailed
			}
			if r := run.steps(x, bodies[0]); r != success {
				return r
			}
		}
	}
	return success
}

// setConditional is the device function of that name: (handle, value). It has
// an effect in a kernel that runs as a node of a graph.
func setConditional(call *vm.ExternCall) {
	run, ok := call.Options.User.(*graphRun)
	if !ok || len(call.Args) < 12 {
		return
	}
	h := binary.LittleEndian.Uint64(call.Args)
	v := binary.LittleEndian.Uint32(call.Args[8:])
	run.exec.e.setCondition(h, v)
}

func (e *Emulator) setCondition(h uint64, v uint32) {
	e.mu.Lock()
	c := find[condition](e, uintptr(h))
	e.mu.Unlock()
	if c != nil {
		c.value.Store(v)
	}
}
