package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Kernel nodes. Version 1 of the parameters is version 2 without the last two fields, which must
// not be read in version 1.

type kernelParamsV2 = cu.CUDA_KERNEL_NODE_PARAMS_v2

// kernelParamsAt reads the struct of argument i. It returns the struct by value: the arrays it
// points to may lie on the caller's stack, so it must not escape to the heap.
func kernelParamsAt(c call, i int, v1 bool) (p kernelParamsV2, ok bool) {
	switch {
	case c.Ptr(i) == nil:
		return p, false
	case !v1:
		return *at[kernelParamsV2](c, i), true
	}
	old := at[cu.CUDA_KERNEL_NODE_PARAMS_v1](c, i)
	p.Func, p.SharedMemBytes = old.Func, old.SharedMemBytes
	p.GridDimX, p.GridDimY, p.GridDimZ = old.GridDimX, old.GridDimY, old.GridDimZ
	p.BlockDimX, p.BlockDimY, p.BlockDimZ = old.BlockDimX, old.BlockDimY, old.BlockDimZ
	p.KernelParams, p.Extra = old.KernelParams, old.Extra
	return p, true
}

// kernelNodeAt makes a node's parameters from argument i.
func (c call) kernelNodeAt(i int, v1 bool, attrs launchAttrs) (*kernelNode, result) {
	p, ok := kernelParamsAt(c, i, v1)
	if !ok {
		return nil, errInvalidValue
	}
	return c.kernelNodeFrom(&p, attrs)
}

// kernelNodeFrom makes a node's parameters from the struct.
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
	return put(c, 1, cu.CUDA_KERNEL_NODE_PARAMS_v1{
		Func: cu.CUfunction(n.fn.handle), GridDimX: p.GridDimX, GridDimY: p.GridDimY, GridDimZ: p.GridDimZ,
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
	return n.attrs.get(cu.CUlaunchAttributeID(c.Uint32(1)), at[cu.CUlaunchAttributeValue](c, 2))
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
	if r := twin.attrs.set(c, cu.CUlaunchAttributeID(c.Uint32(1)), at[cu.CUlaunchAttributeValue](c, 2)); r != success {
		return r
	}
	if r := twin.check(); r != success {
		return r
	}
	n.params = &twin
	return success
}
