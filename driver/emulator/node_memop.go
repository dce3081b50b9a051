package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// fields returns the node's parameters. The array of pointers and the arguments belong to the node.
func (n *kernelNode) fields() kernelParamsV2 {
	p := kernelParamsV2{
		GridDimX: n.grid.X, GridDimY: n.grid.Y, GridDimZ: n.grid.Z,
		BlockDimX: n.block.X, BlockDimY: n.block.Y, BlockDimZ: n.block.Z,
		SharedMemBytes: n.shared, Ctx: cu.CUcontext(n.fn.mod.ctx.handle),
	}
	if n.kern != 0 {
		p.Kern = cu.CUkernel(n.kern)
	} else {
		p.Func = cu.CUfunction(n.fn.handle)
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

func (c call) memOpFrom(p *cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2) (*memOpNode, result) {
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

func (n *memOpNode) fields() cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
	ops := append([]cu.CUstreamBatchMemOpParams(nil), n.ops...)
	return cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2{
		Ctx: cu.CUcontext(n.ctx.handle), Count: uint32(len(ops)), ParamArray: &ops[0], Flags: n.flags,
	}
}

func cuGraphAddBatchMemOpNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		n, r := c.memOpFrom(at[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2](c, 4))
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
	p, r := c.memOpFrom(at[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2](c, 1))
	if r != success {
		return r
	}
	n.params = p
	return success
}
