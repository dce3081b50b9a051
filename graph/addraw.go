package graph

import (
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// addRaw adds the node of one operation. The driver copies the parameters. It rejects copies and
// fills of no bytes: use an empty node for those.
func (g *Graph) addRaw(n *cu.CUgraphNode, from *cu.CUgraphNode, count uintptr, op driver.Op) error {
	switch op := op.(type) {
	case *driver.Launch:
		return g.addKernel(n, from, count, op)
	case *driver.CopyOp:
		if op.Bytes() == 0 {
			return g.d.CuGraphAddEmptyNode(n, g.raw, from, count)
		}
		return g.d.CuGraphAddMemcpyNode(n, g.raw, from, count, op.Memcpy3D(), op.Context().Raw())
	case *driver.FillOp:
		if op.Bytes() == 0 {
			return g.d.CuGraphAddEmptyNode(n, g.raw, from, count)
		}
		return g.d.CuGraphAddMemsetNode(n, g.raw, from, count, op.MemsetParams(), op.Context().Raw())
	case *driver.HostFunc:
		p := op.NodeParams()
		return g.d.CuGraphAddHostNode(n, g.raw, from, count, &p)
	case *driver.EventOp:
		if op.IsWait() {
			return g.d.CuGraphAddEventWaitNode(n, g.raw, from, count, op.Event().Raw())
		}
		return g.d.CuGraphAddEventRecordNode(n, g.raw, from, count, op.Event().Raw())
	}
	return g.addRare(n, from, count, op)
}

func unknown(op driver.Op) error {
	if _, ok := op.(*launchOp); ok {
		return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"the launch of a graph becomes a node by Graph.Add, Scope.Do or Exec.Set alone, not in a batch, a plan or a flow, or of a Node.Set")
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "graphs have no node for a %T", op)
}

// addKernel adds a kernel and then sets its attributes, which are not part of the parameters. The
// call needs a current context although the kernel has one: without it, driver 580 reads address 0.
func (g *Graph) addKernel(n *cu.CUgraphNode, from *cu.CUgraphNode, count uintptr, l *driver.Launch) error {
	if !g.v2 {
		return g.addKernelV1(n, from, count, l)
	}
	if err := g.d.CuGraphAddKernelNode(n, g.raw, from, count, &l.Block().Node); err != nil {
		return err
	}
	if len(l.Attributes()) == 0 {
		return nil
	}
	return g.setAttributes(*n, l.Attributes())
}

// addKernelV1 is addKernel for drivers before CUDA 12.0.
func (g *Graph) addKernelV1(n *cu.CUgraphNode, from *cu.CUgraphNode, count uintptr, l *driver.Launch) error {
	if err := g.d.CuGraphAddKernelNode_v10000(n, g.raw, from, count, v1(&l.Block().Node)); err != nil {
		return err
	}
	return g.setAttributes(*n, l.Attributes())
}

// v1 returns the parameters as drivers before CUDA 12.0 take them: the same fields, without the
// last two.
func v1(p *cu.CUDA_KERNEL_NODE_PARAMS) *cu.CUDA_KERNEL_NODE_PARAMS_v1 {
	return (*cu.CUDA_KERNEL_NODE_PARAMS_v1)(unsafe.Pointer(p))
}

// setAttributes completes a new node, or removes it.
func (g *Graph) setAttributes(n cu.CUgraphNode, attrs []cu.CUlaunchAttribute) error {
	for i := range attrs {
		a := &attrs[i]
		if err := g.d.CuGraphKernelNodeSetAttribute(n, a.Id, &a.Value); err != nil {
			return join([]error{err, g.d.CuGraphDestroyNode(n)})
		}
	}
	for i := range attrs {
		g.tune(n, attributeBit(attrs[i].Id))
	}
	return nil
}
