package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

var graphNodeFunctions = functions{
	"cuGraphAddKernelNode":            {cuGraphAddKernelNodeV1, afterInit},
	"cuGraphAddKernelNode_v2":         {cuGraphAddKernelNodeV2, afterInit},
	"cuGraphKernelNodeGetParams":      {cuGraphKernelNodeGetParamsV1, afterInit},
	"cuGraphKernelNodeGetParams_v2":   {cuGraphKernelNodeGetParamsV2, afterInit},
	"cuGraphKernelNodeSetParams":      {cuGraphKernelNodeSetParamsV1, afterInit},
	"cuGraphKernelNodeSetParams_v2":   {cuGraphKernelNodeSetParamsV2, afterInit},
	"cuGraphKernelNodeCopyAttributes": {cuGraphKernelNodeCopyAttributes, afterInit},
	"cuGraphKernelNodeGetAttribute":   {cuGraphKernelNodeGetAttribute, afterInit},
	"cuGraphKernelNodeSetAttribute":   {cuGraphKernelNodeSetAttribute, afterInit},
	"cuGraphAddMemcpyNode":            {cuGraphAddMemcpyNode, afterInit},
	"cuGraphMemcpyNodeGetParams":      {cuGraphMemcpyNodeGetParams, afterInit},
	"cuGraphMemcpyNodeSetParams":      {cuGraphMemcpyNodeSetParams, afterInit},
	"cuGraphAddMemsetNode":            {cuGraphAddMemsetNode, afterInit},
	"cuGraphMemsetNodeGetParams":      {cuGraphMemsetNodeGetParams, afterInit},
	"cuGraphMemsetNodeSetParams":      {cuGraphMemsetNodeSetParams, afterInit},
	"cuGraphAddHostNode":              {cuGraphAddHostNode, afterInit},
	"cuGraphHostNodeGetParams":        {cuGraphHostNodeGetParams, afterInit},
	"cuGraphHostNodeSetParams":        {cuGraphHostNodeSetParams, afterInit},
	"cuGraphAddChildGraphNode":        {cuGraphAddChildGraphNode, afterInit},
	"cuGraphChildGraphNodeGetGraph":   {cuGraphChildGraphNodeGetGraph, afterInit},
	"cuGraphAddEmptyNode":             {cuGraphAddEmptyNode, afterInit},
	"cuGraphAddEventRecordNode":       {cuGraphAddEventRecordNode, afterInit},
	"cuGraphEventRecordNodeGetEvent":  {cuGraphEventRecordNodeGetEvent, afterInit},
	"cuGraphEventRecordNodeSetEvent":  {cuGraphEventRecordNodeSetEvent, afterInit},
	"cuGraphAddEventWaitNode":         {cuGraphAddEventWaitNode, afterInit},
	"cuGraphEventWaitNodeGetEvent":    {cuGraphEventWaitNodeGetEvent, afterInit},
	"cuGraphEventWaitNodeSetEvent":    {cuGraphEventWaitNodeSetEvent, afterInit},
	"cuGraphAddBatchMemOpNode":        {cuGraphAddBatchMemOpNode, afterInit},
	"cuGraphBatchMemOpNodeGetParams":  {cuGraphBatchMemOpNodeGetParams, afterInit},
	"cuGraphBatchMemOpNodeSetParams":  {cuGraphBatchMemOpNodeSetParams, afterInit},
	"cuGraphAddNode":                  {cuGraphAddNodeV1, afterInit},
	"cuGraphAddNode_v2":               {cuGraphAddNodeV2, afterInit},
	"cuGraphNodeSetParams":            {cuGraphNodeSetParams, afterInit},
}

// addNode is the common part of the functions that add a node: the arguments
// begin with (node *, graph, dependencies, [data,] count). make is called with
// the graph known and the dependencies checked.
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
	return put(c, 0, g.add(p, deps).handle)
}

// nodeOf is the node of argument i if it has parameters of type P.
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

// Kernel nodes. Version 1 of the parameters is version 2 without the last two
// fields; those may not be read there.

type kernelParamsV2 = driver.CUDA_KERNEL_NODE_PARAMS_v2

// kernelParamsAt reads the struct of argument i. It is passed on by value: the
// arrays it points to may lie on the caller's stack, so it must not get into
// the heap.
func kernelParamsAt(c call, i int, v1 bool) (p kernelParamsV2, ok bool) {
	switch {
	case c.Ptr(i) == nil:
		return p, false
	case !v1:
		return *at[kernelParamsV2](c, i), true
	}
	old := at[driver.CUDA_KERNEL_NODE_PARAMS_v1](c, i)
	p.Func, p.SharedMemBytes = old.Func, old.SharedMemBytes
	p.GridDimX, p.GridDimY, p.GridDimZ = old.GridDimX, old.GridDimY, old.GridDimZ
	p.BlockDimX, p.BlockDimY, p.BlockDimZ = old.BlockDimX, old.BlockDimY, old.BlockDimZ
	p.KernelParams, p.Extra = old.KernelParams, old.Extra
	return p, true
}

// kernelNodeAt makes a node's parameters of argument i.
func (c call) kernelNodeAt(i int, v1 bool, attrs launchAttrs) (*kernelNode, result) {
	p, ok := kernelParamsAt(c, i, v1)
	if !ok {
		return nil, errInvalidValue
	}
	return c.kernelNodeFrom(&p, attrs)
}

// kernelNodeFrom makes a node's parameters of the struct.
func (c call) kernelNodeFrom(p *kernelParamsV2, attrs launchAttrs) (*kernelNode, result) {
	spec := launchSpec{
		fn:     uintptr(p.Func),
		grid:   vm.Dim3{X: p.GridDimX, Y: p.GridDimY, Z: p.GridDimZ},
		block:  vm.Dim3{X: p.BlockDimX, Y: p.BlockDimY, Z: p.BlockDimZ},
		shared: p.SharedMemBytes, params: p.KernelParams, extra: p.Extra,
	}
	if spec.fn == 0 {
		spec.fn = uintptr(p.Kern)
	}
	if p.Ctx != 0 {
		ctx := find[cudaContext](c.e, uintptr(p.Ctx))
		if ctx == nil {
			return nil, errInvalidContext
		}
		c.ctx = ctx
	}
	if r := c.ctx.usable(); r != success {
		return nil, r
	}
	n, r := c.kernelNode(&spec, attrs)
	if r != success {
		return nil, r
	}
	if k := find[kernel](c.e, spec.fn); k != nil {
		n.kern = k.handle
	}
	return n, success
}

func cuGraphAddKernelNodeV1(c call) result { return addKernelNode(c, true) }
func cuGraphAddKernelNodeV2(c call) result { return addKernelNode(c, false) }

func addKernelNode(c call, v1 bool) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		n, r := c.kernelNodeAt(4, v1, launchAttrs{})
		return n, r
	})
}

// fields answers with the node's parameters. The array of pointers and the
// arguments belong to the node.
func (n *kernelNode) fields() kernelParamsV2 {
	p := kernelParamsV2{
		GridDimX: n.grid.X, GridDimY: n.grid.Y, GridDimZ: n.grid.Z,
		BlockDimX: n.block.X, BlockDimY: n.block.Y, BlockDimZ: n.block.Z,
		SharedMemBytes: n.shared, Ctx: driver.CUcontext(n.fn.mod.ctx.handle),
	}
	if n.kern != 0 {
		p.Kern = driver.CUkernel(n.kern)
	} else {
		p.Func = driver.CUfunction(n.fn.handle)
	}
	if len(n.fn.params) > 0 {
		pointers := make([]unsafe.Pointer, len(n.fn.params))
		for i, at := range n.fn.params {
			pointers[i] = unsafe.Pointer(&n.args[at.Offset])
		}
		p.KernelParams = &pointers[0]
	}
	return p
}

func cuGraphKernelNodeGetParamsV2(c call) result {
	_, n, r := nodeOf[*kernelNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.fields())
}

func cuGraphKernelNodeGetParamsV1(c call) result {
	_, n, r := nodeOf[*kernelNode](c, 0)
	if r != success {
		return r
	}
	p := n.fields()
	return put(c, 1, driver.CUDA_KERNEL_NODE_PARAMS_v1{
		Func: driver.CUfunction(n.fn.handle), GridDimX: p.GridDimX, GridDimY: p.GridDimY, GridDimZ: p.GridDimZ,
		BlockDimX: p.BlockDimX, BlockDimY: p.BlockDimY, BlockDimZ: p.BlockDimZ,
		SharedMemBytes: p.SharedMemBytes, KernelParams: p.KernelParams,
	})
}

func cuGraphKernelNodeSetParamsV1(c call) result { return setKernelNode(c, true) }
func cuGraphKernelNodeSetParamsV2(c call) result { return setKernelNode(c, false) }

func setKernelNode(c call, v1 bool) result {
	n, old, r := nodeOf[*kernelNode](c, 0)
	if r != success {
		return r
	}
	p, r := c.kernelNodeAt(1, v1, old.attrs)
	if r != success {
		return r
	}
	n.params = p
	return success
}

func cuGraphKernelNodeCopyAttributes(c call) result {
	dst, to, r := nodeOf[*kernelNode](c, 0)
	if r != success {
		return r
	}
	_, from, r := nodeOf[*kernelNode](c, 1)
	switch {
	case r != success:
		return r
	case to.fn.mod.ctx != from.fn.mod.ctx:
		return errInvalidContext
	}
	twin := *to
	twin.attrs = from.attrs
	dst.params = &twin
	return success
}

func cuGraphKernelNodeGetAttribute(c call) result {
	_, n, r := nodeOf[*kernelNode](c, 0)
	switch {
	case r != success:
		return r
	case c.Ptr(2) == nil:
		return errInvalidValue
	}
	return n.attrs.get(driver.CUlaunchAttributeID(c.Uint32(1)), at[driver.CUlaunchAttributeValue](c, 2))
}

func cuGraphKernelNodeSetAttribute(c call) result {
	n, old, r := nodeOf[*kernelNode](c, 0)
	switch {
	case r != success:
		return r
	case c.Ptr(2) == nil:
		return errInvalidValue
	}
	twin := *old
	if r := twin.attrs.set(c, driver.CUlaunchAttributeID(c.Uint32(1)), at[driver.CUlaunchAttributeValue](c, 2)); r != success {
		return r
	}
	if r := twin.check(); r != success {
		return r
	}
	n.params = &twin
	return success
}

// contextFor is the context that argument i names for a copy or fill node; 0
// means the current one.
func contextFor(c call, i int) (*cudaContext, result) {
	ctx := contextAt(c, i)
	return ctx, ctx.usable()
}

func cuGraphAddMemcpyNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		ctx, r := contextFor(c, 5)
		if r != success {
			return nil, r
		}
		n, r := c.e.newCopyNode(at[driver.CUDA_MEMCPY3D](c, 4), ctx)
		return n, r
	})
}

func cuGraphMemcpyNodeGetParams(c call) result {
	_, n, r := nodeOf[*copyNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.params)
}

func cuGraphMemcpyNodeSetParams(c call) result {
	n, old, r := nodeOf[*copyNode](c, 0)
	if r != success {
		return r
	}
	p, r := c.e.newCopyNode(at[driver.CUDA_MEMCPY3D](c, 1), old.ctx)
	if r != success {
		return r
	}
	n.params = p
	return success
}

// fillNodeFrom makes a memset node's parameters of the struct.
func (e *Emulator) fillNodeFrom(p *driver.CUDA_MEMSET_NODE_PARAMS, ctx *cudaContext) (*fillNode, result) {
	if p == nil {
		return nil, errInvalidValue
	}
	n := &fillNode{ctx: ctx, fillOp: fillOp{
		addr: uint64(p.Dst), pitch: uint64(p.Pitch), value: p.Value, element: uint64(p.ElementSize),
		width: uint64(p.Width), height: uint64(p.Height),
	}}
	if n.width == 0 || n.height == 0 {
		return nil, errInvalidValue
	}
	return n, n.check(e)
}

func (n *fillNode) fields() driver.CUDA_MEMSET_NODE_PARAMS {
	return driver.CUDA_MEMSET_NODE_PARAMS{
		Dst: driver.CUdeviceptr(n.addr), Pitch: uintptr(n.pitch), Value: n.value,
		ElementSize: uint32(n.element), Width: uintptr(n.width), Height: uintptr(n.height),
	}
}

func cuGraphAddMemsetNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		ctx, r := contextFor(c, 5)
		if r != success {
			return nil, r
		}
		n, r := c.e.fillNodeFrom(at[driver.CUDA_MEMSET_NODE_PARAMS](c, 4), ctx)
		return n, r
	})
}

func cuGraphMemsetNodeGetParams(c call) result {
	_, n, r := nodeOf[*fillNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.fields())
}

func cuGraphMemsetNodeSetParams(c call) result {
	n, old, r := nodeOf[*fillNode](c, 0)
	if r != success {
		return r
	}
	p, r := c.e.fillNodeFrom(at[driver.CUDA_MEMSET_NODE_PARAMS](c, 1), old.ctx)
	if r != success {
		return r
	}
	n.params = p
	return success
}

// hostParams is CUDA_HOST_NODE_PARAMS with the user's data as a number: it
// need not be a pointer, and only pointers may be in a variable of that type.
type hostParams struct{ fn, userData uintptr }

func hostNodeFrom(p *hostParams) (*hostNode, result) {
	if p == nil || p.fn == 0 {
		return nil, errInvalidValue
	}
	return &hostNode{p.fn, p.userData}, success
}

func cuGraphAddHostNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		n, r := hostNodeFrom(at[hostParams](c, 4))
		return n, r
	})
}

func cuGraphHostNodeGetParams(c call) result {
	_, n, r := nodeOf[*hostNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, hostParams{n.fn, n.userData})
}

func cuGraphHostNodeSetParams(c call) result {
	n, _, r := nodeOf[*hostNode](c, 0)
	if r != success {
		return r
	}
	p, r := hostNodeFrom(at[hostParams](c, 1))
	if r != success {
		return r
	}
	n.params = p
	return success
}

// childFrom embeds a graph: a copy of it, or itself if it is moved.
func childFrom(c call, parent *graph, h uintptr, move bool) (nodeParams, result) {
	g := find[graph](c.e, h)
	switch {
	case h == 0:
		return nil, errInvalidValue
	case g == nil:
		return nil, errInvalidHandle
	case g == parent.root() || g.parent != nil && move:
		return nil, errInvalidValue
	case move:
		return &childNode{graph: g}, success
	case g.hasMemory() || g.any(driver.CU_GRAPH_NODE_TYPE_CONDITIONAL):
		return nil, errNotSupported
	}
	return &childNode{graph: g.clone()}, success
}

func cuGraphAddChildGraphNode(c call) result {
	return addNode(c, -1, 3, func(g *graph) (nodeParams, result) { return childFrom(c, g, c.Word(4), false) })
}

func cuGraphChildGraphNodeGetGraph(c call) result {
	_, n, r := nodeOf[*childNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.graph.handle)
}

func cuGraphAddEmptyNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) { return &emptyNode{}, success })
}

func eventOf(c call, h uintptr) (*event, result) {
	if h == 0 {
		return nil, errInvalidValue
	}
	ev := find[event](c.e, h)
	if ev == nil {
		return nil, errInvalidHandle
	}
	return ev, success
}

func cuGraphAddEventRecordNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		ev, r := eventOf(c, c.Word(4))
		return &eventRecordNode{ev}, r
	})
}

func cuGraphEventRecordNodeGetEvent(c call) result {
	_, n, r := nodeOf[*eventRecordNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.ev.handle)
}

func cuGraphEventRecordNodeSetEvent(c call) result {
	n, _, r := nodeOf[*eventRecordNode](c, 0)
	if r != success {
		return r
	}
	ev, r := eventOf(c, c.Word(1))
	if r != success {
		return r
	}
	n.params = &eventRecordNode{ev}
	return success
}

func cuGraphAddEventWaitNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		ev, r := eventOf(c, c.Word(4))
		return &eventWaitNode{ev}, r
	})
}

func cuGraphEventWaitNodeGetEvent(c call) result {
	_, n, r := nodeOf[*eventWaitNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.ev.handle)
}

func cuGraphEventWaitNodeSetEvent(c call) result {
	n, _, r := nodeOf[*eventWaitNode](c, 0)
	if r != success {
		return r
	}
	ev, r := eventOf(c, c.Word(1))
	if r != success {
		return r
	}
	n.params = &eventWaitNode{ev}
	return success
}

func (c call) memOpFrom(p *driver.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2) (*memOpNode, result) {
	if p == nil || p.Count == 0 || p.Count > 256 || p.ParamArray == nil || p.Flags != 0 {
		return nil, errInvalidValue
	}
	ctx := find[cudaContext](c.e, uintptr(p.Ctx))
	if ctx == nil {
		return nil, errInvalidContext
	}
	n := &memOpNode{ctx: ctx, flags: p.Flags}
	n.ops = append(n.ops, unsafe.Slice(p.ParamArray, p.Count)...)
	return n, n.check(c.e)
}

func (n *memOpNode) fields() driver.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
	ops := append([]driver.CUstreamBatchMemOpParams(nil), n.ops...)
	return driver.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2{
		Ctx: driver.CUcontext(n.ctx.handle), Count: uint32(len(ops)), ParamArray: &ops[0], Flags: n.flags,
	}
}

func cuGraphAddBatchMemOpNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		n, r := c.memOpFrom(at[driver.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2](c, 4))
		return n, r
	})
}

func cuGraphBatchMemOpNodeGetParams(c call) result {
	_, n, r := nodeOf[*memOpNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.fields())
}

func cuGraphBatchMemOpNodeSetParams(c call) result {
	n, _, r := nodeOf[*memOpNode](c, 0)
	if r != success {
		return r
	}
	p, r := c.memOpFrom(at[driver.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2](c, 1))
	if r != success {
		return r
	}
	n.params = p
	return success
}

func cuGraphAddNodeV1(c call) result { return addTagged(c, -1, 3, 4) }
func cuGraphAddNodeV2(c call) result { return addTagged(c, 3, 4, 5) }

// addTagged adds a node of any type.
func addTagged(c call, dataArg, countArg, paramsArg int) result {
	p := at[driver.CUgraphNodeParams](c, paramsArg)
	if p == nil || p.Reserved0 != [3]int32{} || p.Reserved2 != 0 {
		return errInvalidValue
	}
	return addNode(c, dataArg, countArg, func(g *graph) (nodeParams, result) { return c.tagged(g, p, nil) })
}

// tagged makes parameters of the tagged union. old are those they replace, nil
// for a new node.
func (c call) tagged(g *graph, p *driver.CUgraphNodeParams, old nodeParams) (nodeParams, result) {
	if old != nil && old.kind() != p.Type {
		return nil, errInvalidValue
	}
	switch p.Type {
	case driver.CU_GRAPH_NODE_TYPE_KERNEL:
		var attrs launchAttrs
		if k, ok := old.(*kernelNode); ok {
			attrs = k.attrs
		}
		v2 := kernelParamsV2(*p.Kernel())
		return checked(c.kernelNodeFrom(&v2, attrs))
	case driver.CU_GRAPH_NODE_TYPE_MEMCPY:
		m := p.Memcpy()
		ctx, r := c.contextOr(m.CopyCtx)
		if r != success {
			return nil, r
		}
		return checked(c.e.newCopyNode(&m.CopyParams, ctx))
	case driver.CU_GRAPH_NODE_TYPE_MEMSET:
		m := p.Memset()
		ctx, r := c.contextOr(m.Ctx)
		if r != success {
			return nil, r
		}
		v1 := driver.CUDA_MEMSET_NODE_PARAMS{Dst: m.Dst, Pitch: m.Pitch, Value: m.Value, ElementSize: m.ElementSize, Width: m.Width, Height: m.Height}
		return checked(c.e.fillNodeFrom(&v1, ctx))
	case driver.CU_GRAPH_NODE_TYPE_HOST:
		return checked(hostNodeFrom((*hostParams)(unsafe.Pointer(p.Host()))))
	case driver.CU_GRAPH_NODE_TYPE_EMPTY:
		return &emptyNode{}, success
	case driver.CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		ev, r := eventOf(c, uintptr(p.EventRecord().Event))
		return &eventRecordNode{ev}, r
	case driver.CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		ev, r := eventOf(c, uintptr(p.EventWait().Event))
		return &eventWaitNode{ev}, r
	case driver.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return checked(c.memOpFrom(p.MemOp()))
	case driver.CU_GRAPH_NODE_TYPE_GRAPH:
		child := p.Graph()
		if old != nil {
			return nil, errNotSupported
		}
		return childFrom(c, g, uintptr(child.Graph), child.Ownership == driver.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
	case driver.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		if old != nil {
			return nil, errNotSupported
		}
		return checked(c.conditionalFrom(g, p.Conditional()))
	case driver.CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		if old != nil {
			return nil, errNotSupported
		}
		a := p.Alloc()
		return checked(c.allocFrom(&a.PoolProps, a.Bytesize, &a.Dptr))
	case driver.CU_GRAPH_NODE_TYPE_MEM_FREE:
		if old != nil {
			return nil, errNotSupported
		}
		return checked(c.freeFrom(g, p.Free().Dptr))
	case driver.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, driver.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return nil, errNotSupported
	}
	return nil, errInvalidValue
}

// checked turns a typed result into the interface, without a typed nil.
func checked[P nodeParams](p P, r result) (nodeParams, result) {
	if r != success {
		return nil, r
	}
	return p, success
}

func (c call) contextOr(h driver.CUcontext) (*cudaContext, result) {
	ctx := c.ctx
	if h != 0 {
		ctx = find[cudaContext](c.e, uintptr(h))
	}
	return ctx, ctx.usable()
}

func cuGraphNodeSetParams(c call) result {
	n, r := nodeAt(c, 0)
	p := at[driver.CUgraphNodeParams](c, 1)
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
	n.params = params
	return success
}
