package graph

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/hostcall"
)

// Add adds a node that runs op after deps, which must be nodes of the same graph. Without deps, the
// node runs when the graph begins. The graph keeps alive the objects that op refers to. The driver
// copies the parameters of op, so the caller may change and reuse op after Add returns. Add returns
// CUDA_ERROR_INVALID_VALUE for a node of another graph or an operation of another driver. A copy or
// fill of no bytes becomes an empty node.
//
// op may belong to a different context or device than the graph. The node runs in the context of
// op. Copies, and kernels with peer access, may use memory of several devices. An operation
// returned by [Exec.Op] becomes a child graph node.
func (g *Graph) Add(op driver.Op, deps ...Node) (Node, error) {
	if l, ok := op.(*launchOp); ok {
		return l.addTo(g, deps)
	}
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	n, err := g.add(op, deps)
	g.mu.Unlock()
	runtime.KeepAlive(op)
	g.alive()
	if err != nil {
		return Node{}, g.addError(op, err)
	}
	return n, nil
}

func (g *Graph) add(op driver.Op, deps []Node) (Node, error) {
	if l, ok := op.(*driver.Launch); ok && l.Context() == g.ctx {
		return g.addLaunch(l, deps)
	}
	if err := g.accepts(op); err != nil {
		return Node{}, err
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	o := g.changeRefs()
	if err := o.Retain(op.Uses().Refs); err != nil {
		return Node{}, err
	}
	var raw cu.CUgraphNode
	if err := g.addRaw(&raw, from, uintptr(len(deps)), op); err != nil {
		o.Abandon()
		o.Flush()
		return Node{}, err
	}
	g.commitNew(o)
	g.accesses.Op(len(g.raws), op)
	return g.added(raw), nil
}

// addLaunch is the fast path of Add for kernel launches in the graph's context, the most frequent
// operation.
func (g *Graph) addLaunch(l *driver.Launch, deps []Node) (Node, error) {
	if err := l.CheckRestrict(); err != nil {
		return Node{}, err
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	o := g.changeRefs()
	again := !g.part && o.RefersToLaunch(len(o.Nodes)-1, l)
	if !again {
		if err := o.Retain(l.Uses().Refs); err != nil {
			return Node{}, err
		}
	}
	var raw cu.CUgraphNode
	if err := g.addKernel(&raw, from, uintptr(len(deps)), l); err != nil {
		o.Abandon()
		o.Flush()
		return Node{}, err
	}
	if again {
		o.CommitAgain(1)
	} else {
		g.commitNew(o)
	}
	g.accesses.Launch(len(g.raws), l)
	return g.added(raw), nil
}

func (g *Graph) addError(op driver.Op, err error) error {
	if op == nil {
		return fmt.Errorf("cannot add to %v: %w", g, err)
	}
	return fmt.Errorf("cannot add %v to %v: %w", op, g, err)
}

// accepts returns an error for an operation of another driver and, in the body of a conditional
// node, for an operation that CUDA does not support there. The operation may belong to another
// context or device (see setRaw). A copy or fill from another context marks the graph as mixed.
func (g *Graph) accepts(op driver.Op) error {
	if g.part && g.inBody() {
		if err := bodyTakes(op); err != nil {
			return err
		}
	}
	if err := refusal.Operation(g.ctx, op); err != nil {
		return err
	}
	if elsewhere(g.ctx, op) {
		g.outermost().mixed = true
	}
	return nil
}

func elsewhere(ctx *driver.Context, op driver.Op) bool {
	switch op.(type) {
	case *driver.CopyOp, *driver.FillOp:
		c := op.Context()
		return c != ctx && c.Raw() != ctx.Raw()
	}
	return false
}

// dependencies checks deps and returns their handles as a C array. The array is in g.raws for a
// single node, otherwise in g.from.
func (g *Graph) dependencies(deps []Node) (*cu.CUgraphNode, error) {
	if len(deps) == 0 {
		return nil, nil
	}
	for i := range deps {
		if err := g.check(deps[i]); err != nil {
			return nil, err
		}
	}
	if len(deps) == 1 {
		return &g.raws[deps[0].i], nil
	}
	g.from = g.from[:0]
	for i := range deps {
		g.from = append(g.from, deps[i].handle())
	}
	return &g.from[0], nil
}

// AddEmpty adds a node that does nothing. Other nodes can depend on it.
func (g *Graph) AddEmpty(deps ...Node) (Node, error) {
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	defer g.mu.Unlock()
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, fmt.Errorf("cannot add an empty node to %v: %w", g, err)
	}
	var raw cu.CUgraphNode
	if err := g.d.CuGraphAddEmptyNode(&raw, g.raw, from, uintptr(len(deps))); err != nil {
		return Node{}, fmt.Errorf("cannot add an empty node to %v: %w", g, err)
	}
	g.commitNew(g.changeRefs())
	return g.added(raw), nil
}

// addGeneric adds a node of any type from its tagged parameters (CUDA 12.2). Drivers before CUDA
// 12.3 have an earlier ABI without edge data.
func (g *Graph) addGeneric(node, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr, p *cu.CUgraphNodeParams) error {
	if data == nil && !g.d.Has(cu.FnCuGraphAddNode) {
		return g.d.CuGraphAddNode_v12020(node, g.raw, from, n, p)
	}
	return g.d.CuGraphAddNode(node, g.raw, from, data, n, p)
}

// addRaw adds a node for op, whose parameters the driver copies. For a copy or fill of no bytes,
// which the driver rejects, it adds an empty node.
func (g *Graph) addRaw(n *cu.CUgraphNode, from *cu.CUgraphNode, count uintptr, op driver.Op) error {
	switch op := op.(type) {
	case *driver.Launch:
		return g.addKernel(n, from, count, op)
	case *driver.CopyOp:
		if op.Bytes() == 0 {
			return g.d.CuGraphAddEmptyNode(n, g.raw, from, count)
		}
		return g.d.CuGraphAddMemcpyNode(n, g.raw, from, count, op.Uses().Node.(*cu.CUDA_MEMCPY3D), op.Context().Raw())
	case *driver.FillOp:
		if op.Bytes() == 0 {
			return g.d.CuGraphAddEmptyNode(n, g.raw, from, count)
		}
		return g.d.CuGraphAddMemsetNode(n, g.raw, from, count, op.Uses().Node.(*cu.CUDA_MEMSET_NODE_PARAMS), op.Context().Raw())
	case *driver.HostFunc:
		p := op.Uses().Node.(*hostcall.Call).NodeParams()
		return g.d.CuGraphAddHostNode(n, g.raw, from, count, &p)
	case *driver.EventOp:
		event, wait := eventOf(op)
		if wait {
			return g.d.CuGraphAddEventWaitNode(n, g.raw, from, count, event)
		}
		return g.d.CuGraphAddEventRecordNode(n, g.raw, from, count, event)
	}
	return g.addRare(n, from, count, op)
}

// eventOf returns the event that op records or waits for, and whether op waits.
func eventOf(op *driver.EventOp) (event cu.CUevent, wait bool) {
	switch p := op.Uses().Node.(type) {
	case *cu.CUDA_EVENT_WAIT_NODE_PARAMS:
		return p.Event, true
	case *cu.CUDA_EVENT_RECORD_NODE_PARAMS:
		return p.Event, false
	}
	return 0, false
}

func unknown(op driver.Op) error {
	if _, ok := op.(*launchOp); ok {
		return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"only Graph.Add, Scope.Do and Exec.Set take the launch of a graph, not a batch, a plan, a flow or Node.Set")
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "graphs have no node for a %T", op)
}

// addKernel adds a kernel node and then sets its attributes, which are not part of the parameters.
// The call needs a current context, even though the kernel in the parameters belongs to a context.
// Without one, driver 580 reads address 0.
func (g *Graph) addKernel(n *cu.CUgraphNode, from *cu.CUgraphNode, count uintptr, l *driver.Launch) error {
	if !g.v2 {
		return g.addKernelV1(n, from, count, l)
	}
	if err := g.d.CuGraphAddKernelNode(n, g.raw, from, count, &l.Block().Node); err != nil {
		return err
	}
	if len(l.Block().Attributes()) == 0 {
		return nil
	}
	return g.setAttributes(*n, l.Block().Attributes())
}

// addKernelV1 is addKernel for drivers before CUDA 12.0.
func (g *Graph) addKernelV1(n *cu.CUgraphNode, from *cu.CUgraphNode, count uintptr, l *driver.Launch) error {
	if err := g.d.CuGraphAddKernelNode_v10000(n, g.raw, from, count, v1(&l.Block().Node)); err != nil {
		return err
	}
	return g.setAttributes(*n, l.Block().Attributes())
}

// v1 converts p to the type for drivers before CUDA 12.0, which lacks the last two fields.
func v1(p *cu.CUDA_KERNEL_NODE_PARAMS) *cu.CUDA_KERNEL_NODE_PARAMS_v1 {
	return (*cu.CUDA_KERNEL_NODE_PARAMS_v1)(unsafe.Pointer(p))
}

// setAttributes sets the attributes of a new node. If the driver rejects one, it destroys the node.
func (g *Graph) setAttributes(n cu.CUgraphNode, attrs []cu.CUlaunchAttribute) error {
	for i := range attrs {
		a := &attrs[i]
		if err := g.d.CuGraphKernelNodeSetAttribute(n, a.Id, &a.Value); err != nil {
			return join([]error{err, g.d.CuGraphDestroyNode(n)})
		}
	}
	for i := range attrs {
		g.noteAttributes(n, attributeBit(attrs[i].Id))
	}
	return nil
}

// addRare adds a node for a batch of memory operations (CUDA 11.7) or an operation on external
// semaphores (CUDA 11.2).
func (g *Graph) addRare(n, from *cu.CUgraphNode, count uintptr, op driver.Op) error {
	switch op := op.(type) {
	case *driver.MemOp:
		p := op.Uses().Node.(*cu.CUDA_BATCH_MEM_OP_NODE_PARAMS)
		return g.d.CuGraphAddBatchMemOpNode(n, g.raw, from, count, p)
	case *driver.SemaphoreOp:
		of := op.Uses().Node
		if p, ok := of.(*cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS); ok {
			return g.boundTo(op).CuGraphAddExternalSemaphoresWaitNode(n, g.raw, from, count, p)
		}
		return g.boundTo(op).CuGraphAddExternalSemaphoresSignalNode(n, g.raw, from, count, of.(*cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS))
	}
	return unknown(op)
}

// boundTo returns the driver bound to the context of op. It is for operations whose parameters do
// not name a context.
func (g *Graph) boundTo(op driver.Op) *driver.Driver {
	if c := op.Context(); c != g.ctx {
		return c.Driver()
	}
	return g.d
}

func (g *Graph) setRare(n cu.CUgraphNode, op driver.Op) error {
	switch op := op.(type) {
	case *driver.MemOp:
		p := op.Uses().Node.(*cu.CUDA_BATCH_MEM_OP_NODE_PARAMS)
		return g.d.CuGraphBatchMemOpNodeSetParams(n, p)
	case *driver.SemaphoreOp:
		of := op.Uses().Node
		if p, ok := of.(*cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS); ok {
			return g.boundTo(op).CuGraphExternalSemaphoresWaitNodeSetParams(n, p)
		}
		return g.boundTo(op).CuGraphExternalSemaphoresSignalNodeSetParams(n, of.(*cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS))
	}
	return unknown(op)
}

func (x *Exec) setRare(n cu.CUgraphNode, op driver.Op) error {
	d, raw := x.d, x.keep.raw
	switch op := op.(type) {
	case *driver.MemOp:
		p := op.Uses().Node.(*cu.CUDA_BATCH_MEM_OP_NODE_PARAMS)
		return d.CuGraphExecBatchMemOpNodeSetParams(raw, n, p)
	case *driver.SemaphoreOp:
		of := op.Uses().Node
		if p, ok := of.(*cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS); ok {
			return d.CuGraphExecExternalSemaphoresWaitNodeSetParams(raw, n, p)
		}
		return d.CuGraphExecExternalSemaphoresSignalNodeSetParams(raw, n, of.(*cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS))
	}
	return unknown(op)
}

// setElsewhere sets a node to a copy or fill in a graph whose nodes have several contexts. The
// type-specific calls keep the node's context, so setElsewhere uses the generic call, which sets
// the context (CUDA 12.2). For other operations it does nothing and returns false.
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
