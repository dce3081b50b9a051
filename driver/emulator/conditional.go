package emulator

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
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
	assign  bool             // initial is assigned at each launch
	node    *conditionalNode // the node that uses it
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
	ctx := find[cudaContext](c.e, c.Word(2)) // here 0 does not mean the current context
	r = ctx.usable()
	flags := c.Uint32(4)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || flags&^uint32(cu.CU_GRAPH_COND_ASSIGN_DEFAULT) != 0:
		return errInvalidValue
	}
	h := &condition{e: c.e, graph: g, ctx: ctx, initial: c.Uint32(3), assign: flags != 0}
	h.handle = c.e.register(h)
	g.handles = append(g.handles, h)
	return put(c, 0, uint64(h.handle))
}

// unusedCondition reports whether the graph, or a graph in it, has a handle that no node uses.
func (g *graph) unusedCondition() bool {
	for _, h := range g.handles {
		if h.node == nil {
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

// conditionalNode runs its bodies depending on the value of a handle.
type conditionalNode struct {
	cond   *condition
	form   cu.CUgraphConditionalNodeType
	bodies []*graph
}

func (*conditionalNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_CONDITIONAL }

// run is never called: an executable graph has the steps of the bodies instead.
func (*conditionalNode) run(*execution) result { return errLaunchFailed }

func (n *conditionalNode) graphs() []*graph { return n.bodies }

// conditionalFrom makes a conditional node and its empty body graphs. It returns the handles of the
// bodies in an array that belongs to the node.
func (c call) conditionalFrom(g *graph, p *cu.CUDA_CONDITIONAL_NODE_PARAMS) (*conditionalNode, result) {
	h := find[condition](c.e, uintptr(p.Handle))
	if h == nil || h.node != nil || h.graph.root() != g.root() || (p.Ctx != 0 && uintptr(p.Ctx) != h.ctx.handle) {
		return nil, errInvalidValue
	}
	switch {
	case p.Type > cu.CU_GRAPH_COND_TYPE_SWITCH, p.Size == 0,
		p.Type == cu.CU_GRAPH_COND_TYPE_WHILE && p.Size != 1,
		p.Type == cu.CU_GRAPH_COND_TYPE_IF && p.Size > 2,
		c.e.cfg.DriverVersion < moreForms && (p.Type > cu.CU_GRAPH_COND_TYPE_WHILE || p.Size > 1):
		return nil, errInvalidValue
	}
	n := &conditionalNode{cond: h, form: p.Type}
	handles := make([]cu.CUgraph, p.Size)
	for i := range handles {
		body := c.e.newGraph()
		n.bodies = append(n.bodies, body)
		handles[i] = cu.CUgraph(body.handle)
	}
	h.node = n
	p.PhGraph_out = &handles[0]
	c.e.keep(h.handle, handles)
	return n, success
}

// resetConditions assigns the default values at the beginning of a launch.
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
	case cu.CU_GRAPH_COND_TYPE_IF:
		if v != 0 {
			return run.body(x, bodies[0])
		}
		if len(bodies) > 1 {
			return run.body(x, bodies[1])
		}
	case cu.CU_GRAPH_COND_TYPE_SWITCH:
		if v < uint32(len(bodies)) {
			return run.body(x, bodies[v])
		}
	case cu.CU_GRAPH_COND_TYPE_WHILE:
		for n.cond.value.Load() != 0 {
			if x.e.running.Err() != nil {
				return errLaunchFailed
			}
			if r := run.body(x, bodies[0]); r != success {
				return r
			}
		}
	}
	return success
}

// setConditional is the device function of that name: (handle, value). Only a kernel that is a node
// of a graph may call it. For any other kernel, driver 580 returns 700.
func setConditional(call *vm.ExternCall) {
	run, ok := call.Options.User.(*graphRun)
	if !ok || len(call.Args) < 12 {
		call.Fault = "cudaGraphSetConditional in a kernel that is no node of a graph"
		return
	}
	h := binary.LittleEndian.Uint64(call.Args)
	v := binary.LittleEndian.Uint32(call.Args[8:])
	if c := run.condition(uintptr(h)); c != nil {
		c.value.Store(v)
		return
	}
	call.Fault = fmt.Sprintf("cudaGraphSetConditional: %#x is no conditional handle", h)
}

// condition resolves a handle for the executable graph, or otherwise for a graph.
func (run *graphRun) condition(h uintptr) *condition {
	x := run.exec
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	if c := x.conds[h]; c != nil {
		return c
	}
	return find[condition](x.e, h)
}

// enterConditions registers the conditions of a plan. They outlive the graph that they were made
// for.
func (x *exec) enterConditions(p *plan) {
	for i := range p.steps {
		if n, ok := p.steps[i].params.(*conditionalNode); ok {
			x.conds[n.cond.handle] = n.cond
		}
		for _, inner := range p.steps[i].inner {
			x.enterConditions(inner)
		}
	}
}

// translate makes the handles of a graph refer to the conditions of the plan that took over the
// graph's parameters.
func (x *exec) translate(p *plan, m *pairing) {
	for i := range p.steps {
		n, ok := m.byStep[i].params.(nested)
		if !ok {
			continue
		}
		if c, ok := n.(*conditionalNode); ok {
			x.conds[c.cond.handle] = p.steps[i].params.(*conditionalNode).cond
		}
		for j, inner := range n.graphs() {
			if q, bad := p.steps[i].inner[j].pair(inner); bad == nil {
				x.translate(p.steps[i].inner[j], q)
			}
		}
	}
}

// moreForms is the CUDA version that added IF-ELSE, SWITCH and bodies without nodes. Before it, a
// launch that reaches an empty body hangs.
const moreForms = 12080

// body runs a body of a conditional node.
func (run *graphRun) body(x *execution, p *plan) result {
	if len(p.steps) == 0 && x.e.cfg.DriverVersion < moreForms {
		return cu.CUDA_ERROR_LAUNCH_TIMEOUT // what a watchdog would return
	}
	return run.steps(x, p)
}

// inBodies reports whether bodies may have nodes of this type.
func inBodies(t cu.CUgraphNodeType) bool {
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY, cu.CU_GRAPH_NODE_TYPE_MEMSET,
		cu.CU_GRAPH_NODE_TYPE_EMPTY, cu.CU_GRAPH_NODE_TYPE_GRAPH, cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return true
	}
	return false
}

// misplaced returns a node that is not allowed where it is. inBody tells whether the graph is part
// of a body.
func (g *graph) misplaced(inBody bool) *node {
	for _, n := range g.nodes {
		if inBody && !inBodies(n.params.kind()) {
			return n
		}
		o, ok := n.params.(nested)
		if !ok {
			continue
		}
		_, cond := o.(*conditionalNode)
		for _, inner := range o.graphs() {
			if bad := inner.misplaced(inBody || cond); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func (g *graph) hasConditional() bool { return g.any(cu.CU_GRAPH_NODE_TYPE_CONDITIONAL) }
