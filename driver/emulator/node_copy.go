package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// copyNode is a copy with the parameters of CUDA_MEMCPY3D. It refers to the user's memory for as
// long as it exists, as a driver's node does.
type copyNode struct {
	copyOp
	ctx    *cudaContext
	params cu.CUDA_MEMCPY3D
	made   *vm.Trace // for CheckGraphPointers
}

func (*copyNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_MEMCPY }

// newCopyNode checks the parameters of a copy.
func (e *Emulator) newCopyNode(p *cu.CUDA_MEMCPY3D, ctx *cudaContext) (*copyNode, result) {
	if p == nil {
		return nil, errInvalidValue
	}
	n := &copyNode{ctx: ctx, params: *p}
	if e.checks(CheckGraphPointers) {
		n.made = vm.Here()
	}
	var r result
	if n.extent, r = transfer.Of3D(e.arrayOf, &n.params, &n.dst, &n.src); r != success {
		return nil, r
	}
	if n.extent.Bytes() == 0 {
		return nil, errInvalidValue
	}
	e.pinned(&n.dst, n.extent)
	e.pinned(&n.src, n.extent)
	return n, e.checkCopy(&n.dst, &n.src, n.extent)
}

// captureCopy records an asynchronous copy as a node.
func captureCopy(c call, s *stream, dst, src *transfer.Side, n transfer.Extent) result {
	p := cu.CUDA_MEMCPY3D{
		SrcXInBytes: uintptr(src.X), SrcY: uintptr(src.Y), SrcZ: uintptr(src.Z),
		SrcPitch: uintptr(src.Pitch), SrcHeight: uintptr(src.Height),
		DstXInBytes: uintptr(dst.X), DstY: uintptr(dst.Y), DstZ: uintptr(dst.Z),
		DstPitch: uintptr(dst.Pitch), DstHeight: uintptr(dst.Height),
		WidthInBytes: uintptr(n.Width), Height: uintptr(n.Height), Depth: uintptr(n.Depth),
	}
	p.SrcMemoryType, p.SrcHost, p.SrcDevice = c.e.sideOf(src)
	p.DstMemoryType, p.DstHost, p.DstDevice = c.e.sideOf(dst)
	if n.Bytes() == 0 {
		return s.capturable()
	}
	node, r := c.e.newCopyNode(&p, s.ctx)
	if r != success {
		return r
	}
	return s.record(node)
}

// sideOf describes a place the way CUDA_MEMCPY3D does.
func (e *Emulator) sideOf(p *transfer.Side) (cu.CUmemorytype, unsafe.Pointer, cu.CUdeviceptr) {
	if p.Host != nil {
		return cu.CU_MEMORYTYPE_HOST, p.Host, 0
	}
	if a := e.allocationAt(p.Addr); a != nil && a.isHost() {
		b, err := e.mem.Bytes(p.Addr, 1)
		if err == nil {
			return cu.CU_MEMORYTYPE_HOST, unsafe.Pointer(&b[0]), 0
		}
	}
	return cu.CU_MEMORYTYPE_DEVICE, nil, cu.CUdeviceptr(p.Addr)
}

// contextFor returns the context in argument i of a copy or fill node. 0 means the current one.
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
		n, r := c.e.newCopyNode(at[cu.CUDA_MEMCPY3D](c, 4), ctx)
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
	p, r := c.e.newCopyNode(at[cu.CUDA_MEMCPY3D](c, 1), old.ctx)
	if r != success {
		return r
	}
	n.params = p
	return success
}
