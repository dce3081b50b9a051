package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
)

// fillNode is a memset.
type fillNode struct {
	fillOp
	ctx *cudaContext
}

func (*fillNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_MEMSET }

// fillNodeFrom converts the struct to the parameters of a memset node.
func (e *Emulator) fillNodeFrom(p *cu.CUDA_MEMSET_NODE_PARAMS, ctx *cudaContext) (*fillNode, result) {
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

func (n *fillNode) fields() cu.CUDA_MEMSET_NODE_PARAMS {
	return cu.CUDA_MEMSET_NODE_PARAMS{
		Dst: cu.CUdeviceptr(n.addr), Pitch: uintptr(n.pitch), Value: n.value,
		ElementSize: uint32(n.element), Width: uintptr(n.width), Height: uintptr(n.height),
	}
}

func cuGraphAddMemsetNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		ctx, r := contextFor(c, 5)
		if r != success {
			return nil, r
		}
		n, r := c.e.fillNodeFrom(at[cu.CUDA_MEMSET_NODE_PARAMS](c, 4), ctx)
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
	p, r := c.e.fillNodeFrom(at[cu.CUDA_MEMSET_NODE_PARAMS](c, 1), old.ctx)
	if r != success {
		return r
	}
	n.params = p
	return success
}
