package graph

import (
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// tagged returns an operation as the functions for nodes of any type take it (CUDA 12.2). For copies
// and fills only these can change the context. The collector does not see what the parameters point
// to, so the caller must keep op reachable.
func tagged(op driver.Op) (p cu.CUgraphNodeParams, err error) {
	switch op := op.(type) {
	case *driver.Launch:
		p.Type = cu.CU_GRAPH_NODE_TYPE_KERNEL
		*p.Kernel() = cu.CUDA_KERNEL_NODE_PARAMS_v3(op.Block().Node)
	case *driver.CopyOp:
		taggedCopy(&p, op)
	case *driver.FillOp:
		taggedFill(&p, op)
	case *driver.HostFunc:
		p.Type = cu.CU_GRAPH_NODE_TYPE_HOST
		*p.Host() = cu.CUDA_HOST_NODE_PARAMS_v2(op.NodeParams())
	case *driver.EventOp:
		if op.IsWait() {
			p.Type = cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT
			p.EventWait().Event = op.Event().Raw()
			break
		}
		p.Type = cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD
		p.EventRecord().Event = op.Event().Raw()
	case *driver.MemOp:
		p.Type = cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
		*p.MemOp() = cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2(op.NodeParams())
	case *driver.SemaphoreOp:
		if op.IsWait() {
			p.Type = cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT
			*p.ExtSemWait() = cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2(op.WaitParams())
			break
		}
		p.Type = cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
		*p.ExtSemSignal() = cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2(op.SignalParams())
	default:
		return p, unknown(op)
	}
	return p, nil
}

// taggedCopy makes an empty node of a copy of no bytes, as addRaw does.
func taggedCopy(p *cu.CUgraphNodeParams, op *driver.CopyOp) {
	if op.Bytes() == 0 {
		p.Type = cu.CU_GRAPH_NODE_TYPE_EMPTY
		return
	}
	p.Type = cu.CU_GRAPH_NODE_TYPE_MEMCPY
	m := p.Memcpy()
	m.CopyCtx, m.CopyParams = op.Context().Raw(), *op.Memcpy3D()
}

// taggedFill makes an empty node of a fill of no bytes, as addRaw does.
func taggedFill(p *cu.CUgraphNodeParams, op *driver.FillOp) {
	if op.Bytes() == 0 {
		p.Type = cu.CU_GRAPH_NODE_TYPE_EMPTY
		return
	}
	p.Type = cu.CU_GRAPH_NODE_TYPE_MEMSET
	m, f := p.Memset(), op.MemsetParams()
	*(*cu.CUDA_MEMSET_NODE_PARAMS)(unsafe.Pointer(m)) = *f // the fields before Ctx
	m.Ctx = op.Context().Raw()
}
