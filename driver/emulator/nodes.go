package emulator

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

var graphNodeFunctions = functions{
	"cuGraphAddKernelNode":            {readKernel(true).add, afterInit},
	"cuGraphAddKernelNode_v2":         {readKernel(false).add, afterInit},
	"cuGraphKernelNodeGetParams":      {getNode((*kernelNode).fieldsV1), afterInit},
	"cuGraphKernelNodeGetParams_v2":   {getNode((*kernelNode).fields), afterInit},
	"cuGraphKernelNodeSetParams":      {readKernel(true).set, afterInit},
	"cuGraphKernelNodeSetParams_v2":   {readKernel(false).set, afterInit},
	"cuGraphKernelNodeCopyAttributes": {cuGraphKernelNodeCopyAttributes, afterInit},
	"cuGraphKernelNodeGetAttribute":   {cuGraphKernelNodeGetAttribute, afterInit},
	"cuGraphKernelNodeSetAttribute":   {cuGraphKernelNodeSetAttribute, afterInit},
	"cuGraphAddMemcpyNode":            {reader[*copyNode](readCopy).add, afterInit},
	"cuGraphMemcpyNodeGetParams":      {getNode(func(n *copyNode) cu.CUDA_MEMCPY3D { return n.params }), afterInit},
	"cuGraphMemcpyNodeSetParams":      {reader[*copyNode](readCopy).set, afterInit},
	"cuGraphAddMemsetNode":            {reader[*fillNode](readFill).add, afterInit},
	"cuGraphMemsetNodeGetParams":      {getNode((*fillNode).fields), afterInit},
	"cuGraphMemsetNodeSetParams":      {reader[*fillNode](readFill).set, afterInit},
	"cuGraphAddHostNode":              {reader[*hostNode](readHost).add, afterInit},
	"cuGraphHostNodeGetParams":        {getNode(func(n *hostNode) hostParams { return hostParams{n.fn, n.userData} }), afterInit},
	"cuGraphHostNodeSetParams":        {reader[*hostNode](readHost).set, afterInit},
	"cuGraphAddChildGraphNode":        {cuGraphAddChildGraphNode, afterInit},
	"cuGraphChildGraphNodeGetGraph":   {getNode(func(n *childNode) uintptr { return n.graph.handle }), afterInit},
	"cuGraphAddEmptyNode":             {reader[*emptyNode](readEmpty).add, afterInit},
	"cuGraphAddEventRecordNode":       {reader[*eventRecordNode](readRecord).add, afterInit},
	"cuGraphEventRecordNodeGetEvent":  {getNode(func(n *eventRecordNode) uintptr { return n.ev.handle }), afterInit},
	"cuGraphEventRecordNodeSetEvent":  {reader[*eventRecordNode](readRecord).set, afterInit},
	"cuGraphAddEventWaitNode":         {reader[*eventWaitNode](readWait).add, afterInit},
	"cuGraphEventWaitNodeGetEvent":    {getNode(func(n *eventWaitNode) uintptr { return n.ev.handle }), afterInit},
	"cuGraphEventWaitNodeSetEvent":    {reader[*eventWaitNode](readWait).set, afterInit},
	"cuGraphAddBatchMemOpNode":        {reader[*memOpNode](readMemOp).add, afterInit},
	"cuGraphBatchMemOpNodeGetParams":  {getNode((*memOpNode).fields), afterInit},
	"cuGraphBatchMemOpNodeSetParams":  {reader[*memOpNode](readMemOp).set, afterInit},
	"cuGraphAddNode":                  {cuGraphAddNodeV1, afterInit},
	"cuGraphAddNode_v2":               {cuGraphAddNodeV2, afterInit},
	"cuGraphNodeSetParams":            {cuGraphNodeSetParams, afterInit},
}

// addNode implements the functions that add a node. Their arguments begin with (node *, graph,
// dependencies, [data,] count). It calls make after it has resolved the graph and checked the
// dependencies.
func addNode(c call, dataArg, countArg int, make func(g *graph) (nodeParams, result)) result {
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil:
		return errInvalidValue
	}
	deps, r := edgesAt(c, g, 2, dataArg, countArg)
	if r != success {
		return r
	}
	p, r := make(g)
	if r != success {
		return r
	}
	if r := checkTarget(p, deps...); r != success {
		return r
	}
	return put(c, 0, g.add(p, deps).handle)
}

// nodeOf returns the node passed as argument i. It fails if the node's parameters do not have type
// P.
func nodeOf[P nodeParams](c call, i int) (*node, P, result) {
	var none P
	n, r := nodeAt(c, i)
	if r != success {
		return nil, none, r
	}
	p, ok := n.params.(P)
	if !ok {
		return nil, none, errInvalidValue
	}
	return n, p, success
}

// getNode returns a driver function that stores the parameters of the node passed as argument 0 at
// the address in argument 1. fields converts them to CUDA's struct.
func getNode[N nodeParams, P any](fields func(N) P) func(call) result {
	return func(c call) result {
		_, n, r := nodeOf[N](c, 0)
		if r != success {
			return r
		}
		return put(c, 1, fields(n))
	}
}

// A reader creates a node's parameters from argument i. Some readers also read the next argument.
// All functions for a node type share a reader, and i tells the reader which function was called.
// old is the node's current parameters, or nil for a new node.
type reader[N nodeParams] func(c call, i int, old N) (N, result)

const (
	toNode = 1 // cuGraph…NodeSetParams: (node, parameters)
	toStep = 2 // cuGraphExec…NodeSetParams: (executable graph, node, parameters)
	toNew  = 4 // cuGraphAdd…Node: (node *, graph, dependencies, count, parameters)
)

func (read reader[N]) add(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		var none N
		return checked(read(c, toNew, none))
	})
}

func (read reader[N]) set(c call) result {
	n, old, r := nodeOf[N](c, 0)
	if r != success {
		return r
	}
	p, r := read(c, toNode, old)
	if r != success {
		return r
	}
	n.params = p
	return success
}

// setStep replaces the parameters of a node in an executable graph.
func (read reader[N]) setStep(c call) result {
	x, n, old, r := stepAt[N](c)
	if r != success {
		return r
	}
	p, r := read(c, toStep, old)
	switch {
	case r != success:
		return r
	case refuses(old, p) != updateOK:
		return errInvalidValue
	}
	return x.set(n, p)
}

func readEmpty(call, int, *emptyNode) (*emptyNode, result) { return &emptyNode{}, success }

// emptyNode does nothing except join dependencies.
type emptyNode struct{}

func (*emptyNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_EMPTY }

func (*emptyNode) run(*execution) result { return success }

func cuGraphAddNodeV1(c call) result { return addTagged(c, -1, 3, 4) }

func cuGraphAddNodeV2(c call) result { return addTagged(c, 3, 4, 5) }

// addTagged adds a node whose parameters are a CUgraphNodeParams.
func addTagged(c call, dataArg, countArg, paramsArg int) result {
	p := at[cu.CUgraphNodeParams](c, paramsArg)
	if p == nil || p.Reserved0 != [3]int32{} || p.Reserved2 != 0 {
		return errInvalidValue
	}
	return addNode(c, dataArg, countArg, func(g *graph) (nodeParams, result) { return c.tagged(g, p, nil) })
}

// tagged creates a node's parameters from the tagged union. old is the node's current parameters,
// or nil for a new node.
func (c call) tagged(g *graph, p *cu.CUgraphNodeParams, old nodeParams) (nodeParams, result) {
	if old != nil && old.kind() != p.Type {
		return nil, errInvalidValue
	}
	switch p.Type {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		k, _ := old.(*kernelNode)
		v2 := kernelParamsV2(*p.Kernel())
		return checked(c.kernelNodeFrom(&v2, k))
	case cu.CU_GRAPH_NODE_TYPE_MEMCPY:
		m := p.Memcpy()
		ctx, r := c.contextOr(m.CopyCtx)
		if r != success {
			return nil, r
		}
		return checked(c.e.newCopyNode(&m.CopyParams, ctx))
	case cu.CU_GRAPH_NODE_TYPE_MEMSET:
		m := p.Memset()
		ctx, r := c.contextOr(m.Ctx)
		if r != success {
			return nil, r
		}
		v1 := cu.CUDA_MEMSET_NODE_PARAMS{Dst: m.Dst, Pitch: m.Pitch, Value: m.Value, ElementSize: m.ElementSize, Width: m.Width, Height: m.Height}
		return checked(c.e.fillNodeFrom(&v1, ctx))
	case cu.CU_GRAPH_NODE_TYPE_HOST:
		return checked(hostNodeFrom((*hostParams)(unsafe.Pointer(p.Host()))))
	case cu.CU_GRAPH_NODE_TYPE_EMPTY:
		return &emptyNode{}, success
	case cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		ev, r := eventOf(c, uintptr(p.EventRecord().Event))
		return &eventRecordNode{ev}, r
	case cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		ev, r := eventOf(c, uintptr(p.EventWait().Event))
		return &eventWaitNode{ev}, r
	case cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return checked(c.memOpFrom(p.MemOp()))
	case cu.CU_GRAPH_NODE_TYPE_GRAPH:
		child := p.Graph()
		return childFrom(c, g, uintptr(child.Graph), child.Ownership == cu.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
	case cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		if old != nil {
			return nil, errNotSupported
		}
		return checked(c.conditionalFrom(g, p.Conditional()))
	case cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		if old != nil {
			return nil, errNotSupported
		}
		a := p.Alloc()
		n, r := c.allocFrom(&a.PoolProps, accessDescs(a.AccessDescs, a.AccessDescCount), a.Bytesize, &a.Dptr)
		if r == success {
			n.graph = g
		}
		return checked(n, r)
	case cu.CU_GRAPH_NODE_TYPE_MEM_FREE:
		if old != nil {
			return nil, errNotSupported
		}
		return checked(c.freeFrom(g, p.Free().Dptr))
	case cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
		s := signalNodeArgs(*p.ExtSemSignal())
		return checked(c.e.signalFrom(&s))
	case cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		w := waitNodeArgs(*p.ExtSemWait())
		return checked(c.e.waitFrom(&w))
	}
	return nil, errInvalidValue
}

// checked converts parameters to the interface. It returns an untyped nil if r is an error.
func checked[P nodeParams](p P, r result) (nodeParams, result) {
	if r != success {
		return nil, r
	}
	return p, success
}

func (c call) contextOr(h cu.CUcontext) (*cudaContext, result) {
	ctx := c.ctx
	if h != 0 {
		ctx = find[cudaContext](c.e, uintptr(h))
	}
	return ctx, ctx.usable()
}

func cuGraphNodeSetParams(c call) result {
	n, r := nodeAt(c, 0)
	p := at[cu.CUgraphNodeParams](c, 1)
	switch {
	case r != success:
		return r
	case p == nil:
		return errInvalidValue
	}
	params, r := c.tagged(n.graph, p, n.params)
	if r != success {
		return r
	}
	n.replace(params)
	return success
}

// replace replaces a node's parameters. It destroys the child graph in the old parameters, and
// makes the node the parent of the child graph in the new ones.
func (n *node) replace(p nodeParams) {
	if o, ok := n.params.(*childNode); ok {
		o.graph.destroy()
	}
	n.params = p
	if o, ok := p.(*childNode); ok {
		o.graph.parent = n
	}
}

type childNode struct{ graph *graph }

func (*childNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_GRAPH }

// run is never called, because an executable graph contains the child graph's steps.
func (*childNode) run(*execution) result { return errLaunchFailed }

func (n *childNode) graphs() []*graph { return []*graph{n.graph} }

// childFrom creates a child node with a copy of a graph, or with the graph itself if it is moved.
func childFrom(c call, parent *graph, h uintptr, move bool) (nodeParams, result) {
	g := find[graph](c.e, h)
	switch {
	case g == nil:
		return nil, errInvalidValue
	case g == parent.root() || g.parent != nil && move:
		return nil, errInvalidValue
	case g.hasConditional():
		return nil, errNotSupported
	case move:
		g.moved = true
		return &childNode{graph: g}, success
	case g.hasMemory(), g.parent != nil: // driver 580 does not copy a node's graph into another node
		return nil, errNotSupported
	}
	return &childNode{graph: g.clone()}, success
}

func cuGraphAddChildGraphNode(c call) result {
	return addNode(c, -1, 3, func(g *graph) (nodeParams, result) { return childFrom(c, g, c.Word(4), false) })
}

// condition is a conditional handle. Kernels set its value, and a conditional node reads it.
type condition struct {
	handle  uintptr
	e       *Emulator
	graph   *graph
	ctx     *cudaContext
	initial uint32
	assign  bool             // each launch sets the value to initial
	node    *conditionalNode // the node that reads the value, or nil
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
	ctx := find[cudaContext](c.e, c.Word(2)) // for this function, 0 does not mean the current context
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

// unusedCondition reports whether the graph or a nested graph has a conditional handle that no node
// uses.
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

type conditionalNode struct {
	cond   *condition
	form   cu.CUgraphConditionalNodeType
	bodies []*graph
}

func (*conditionalNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_CONDITIONAL }

// run is never called, because an executable graph contains the bodies' steps.
func (*conditionalNode) run(*execution) result { return errLaunchFailed }

func (n *conditionalNode) graphs() []*graph { return n.bodies }

// conditionalFrom creates a conditional node with empty body graphs. It returns the bodies' handles
// in an array that belongs to the node.
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
	c.e.keepAlive(h.handle, handles)
	return n, success
}

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

// setConditional implements the device function cudaGraphSetConditional(handle, value). Only
// kernels in a graph may call it. For other kernels, driver 580 returns CUDA_ERROR_ILLEGAL_ADDRESS.
func setConditional(call *vm.ExternCall) {
	run, ok := call.Options.User.(*graphRun)
	if !ok || len(call.Args) < 12 {
		call.Fault = "cudaGraphSetConditional in a kernel that is not a node of a graph"
		return
	}
	h := binary.LittleEndian.Uint64(call.Args)
	v := binary.LittleEndian.Uint32(call.Args[8:])
	if c := run.condition(uintptr(h)); c != nil {
		c.value.Store(v)
		return
	}
	call.Fault = fmt.Sprintf("cudaGraphSetConditional: %#x is not a conditional handle", h)
}

// condition returns the condition that belongs to a handle. It prefers a condition in the
// executable graph to one in a graph.
func (run *graphRun) condition(h uintptr) *condition {
	x := run.exec
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	if c := x.conds[h]; c != nil {
		return c
	}
	return find[condition](x.e, h)
}

// enterConditions registers the conditions of a plan. They remain valid after the graph to which
// their handle belongs is destroyed.
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

// translate maps a graph's handles to the conditions in the plan that was updated from the graph.
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

// moreForms is the first CUDA version with IF-ELSE, SWITCH and bodies without nodes. With an
// earlier version, a launch that reaches an empty body hangs.
const moreForms = 12080

func (run *graphRun) body(x *execution, p *plan) result {
	if len(p.steps) == 0 && x.e.cfg.DriverVersion < moreForms {
		return cu.CUDA_ERROR_LAUNCH_TIMEOUT // as if a watchdog ended the launch
	}
	return run.steps(x, p)
}

// inBodies reports whether conditional bodies may contain nodes of this type.
func inBodies(t cu.CUgraphNodeType) bool {
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY, cu.CU_GRAPH_NODE_TYPE_MEMSET,
		cu.CU_GRAPH_NODE_TYPE_EMPTY, cu.CU_GRAPH_NODE_TYPE_GRAPH, cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return true
	}
	return false
}

// misplaced returns a node that is not allowed in its graph, or nil. inBody reports whether the
// graph is in a conditional body.
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
