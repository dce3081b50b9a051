package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

func cuGraphAddNodeV1(c call) result { return addTagged(c, -1, 3, 4) }

func cuGraphAddNodeV2(c call) result { return addTagged(c, 3, 4, 5) }

// addTagged adds a node of any type.
func addTagged(c call, dataArg, countArg, paramsArg int) result {
	p := at[cu.CUgraphNodeParams](c, paramsArg)
	if p == nil || p.Reserved0 != [3]int32{} || p.Reserved2 != 0 {
		return errInvalidValue
	}
	return addNode(c, dataArg, countArg, func(g *graph) (nodeParams, result) { return c.tagged(g, p, nil) })
}

// tagged makes parameters from the tagged union. old is the parameters that they replace, or nil
// for a new node.
func (c call) tagged(g *graph, p *cu.CUgraphNodeParams, old nodeParams) (nodeParams, result) {
	if old != nil && old.kind() != p.Type {
		return nil, errInvalidValue
	}
	switch p.Type {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		var attrs launchAttrs
		if k, ok := old.(*kernelNode); ok {
			attrs = k.attrs
		}
		v2 := kernelParamsV2(*p.Kernel())
		return checked(c.kernelNodeFrom(&v2, attrs))
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

// checked converts a typed result to the interface, and avoids a typed nil.
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

// replace replaces the parameters of a node, and the graph of a child graph node.
func (n *node) replace(p nodeParams) {
	if o, ok := n.params.(*childNode); ok {
		o.graph.destroy()
	}
	n.params = p
	if o, ok := p.(*childNode); ok {
		o.graph.parent = n
	}
}
