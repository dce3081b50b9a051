package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// addRare adds nodes of the sorts that few graphs have: batches of memory
// operations (CUDA 11.7), external semaphores (CUDA 11.2).
func (g *Graph) addRare(n, from *cu.CUgraphNode, count uintptr, op driver.Op) error {
	switch op := op.(type) {
	case *driver.MemOp:
		p := op.NodeParams()
		return g.d.CuGraphAddBatchMemOpNode(n, g.raw, from, count, &p)
	case *driver.SemaphoreOp:
		if op.IsWait() {
			p := op.WaitParams()
			return g.boundTo(op).CuGraphAddExternalSemaphoresWaitNode(n, g.raw, from, count, &p)
		}
		p := op.SignalParams()
		return g.boundTo(op).CuGraphAddExternalSemaphoresSignalNode(n, g.raw, from, count, &p)
	}
	return unknown(op)
}

// boundTo is the driver bound to the context of an operation whose parameters do not
// name one.
func (g *Graph) boundTo(op driver.Op) *driver.Driver {
	if c := op.Context(); c != g.ctx {
		return c.Driver()
	}
	return g.d
}

func (g *Graph) setRare(n cu.CUgraphNode, op driver.Op) error {
	switch op := op.(type) {
	case *driver.MemOp:
		p := op.NodeParams()
		return g.d.CuGraphBatchMemOpNodeSetParams(n, &p)
	case *driver.SemaphoreOp:
		if op.IsWait() {
			p := op.WaitParams()
			return g.boundTo(op).CuGraphExternalSemaphoresWaitNodeSetParams(n, &p)
		}
		p := op.SignalParams()
		return g.boundTo(op).CuGraphExternalSemaphoresSignalNodeSetParams(n, &p)
	}
	return unknown(op)
}

func (x *Exec) setRare(n cu.CUgraphNode, op driver.Op) error {
	d, raw := x.d, x.keep.raw
	switch op := op.(type) {
	case *driver.MemOp:
		p := op.NodeParams()
		return d.CuGraphExecBatchMemOpNodeSetParams(raw, n, &p)
	case *driver.SemaphoreOp:
		if op.IsWait() {
			p := op.WaitParams()
			return d.CuGraphExecExternalSemaphoresWaitNodeSetParams(raw, n, &p)
		}
		p := op.SignalParams()
		return d.CuGraphExecExternalSemaphoresSignalNodeSetParams(raw, n, &p)
	}
	return unknown(op)
}

// setElsewhere sets copies and fills of graphs whose nodes are of several
// contexts: the calls for these types keep the context that the node has, those
// for all types take one (CUDA 12.2).
func (g *Graph) setElsewhere(n cu.CUgraphNode, op driver.Op) (done bool, err error) {
	switch op.(type) {
	case *driver.CopyOp, *driver.FillOp:
	default:
		return false, nil
	}
	p, err := tagged(op)
	if err != nil {
		return true, err
	}
	return true, g.d.CuGraphNodeSetParams(n, &p)
}
