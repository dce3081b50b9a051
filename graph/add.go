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
// copies the parameters of op, so the caller may change and reuse op after Add returns. Nodes of
// other graphs and operations of other drivers return CUDA_ERROR_INVALID_VALUE. A copy of no bytes
// becomes an empty node.
//
// op may belong to another context or device than the graph. It runs in its own context. Copies,
// and kernels with peer access, may use memory of several devices.
//
// The launch of an Exec ([Exec.Op]) becomes a child graph.
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

// addLaunch is the fast path of Add for kernel launches, the most frequent operation.
func (g *Graph) addLaunch(l *driver.Launch, deps []Node) (Node, error) {
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

// accepts rejects operations of other drivers and, in a body, operations that CUDA does not support
// there. It accepts operations of other contexts and devices: see setRaw.
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

// dependencies returns a C list of the nodes' handles. It uses a single handle in place and copies
// several handles to a buffer.
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

// addRaw adds the node of one operation. The driver copies the parameters. The driver rejects
// copies and fills of no bytes, so addRaw adds an empty node for them.
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

// eventOf returns the event of op, and whether op waits for it.
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

// addKernel adds a kernel and then sets its attributes, which are not part of the parameters. The
// call needs a current context, although the kernel names one. Without it, driver 580 reads address
// 0.
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

// addKernelV1 adds a kernel with drivers before CUDA 12.0.
func (g *Graph) addKernelV1(n *cu.CUgraphNode, from *cu.CUgraphNode, count uintptr, l *driver.Launch) error {
	if err := g.d.CuGraphAddKernelNode_v10000(n, g.raw, from, count, v1(&l.Block().Node)); err != nil {
		return err
	}
	return g.setAttributes(*n, l.Block().Attributes())
}

// v1 returns the parameters in the form for drivers before CUDA 12.0: the same fields without the
// last two.
func v1(p *cu.CUDA_KERNEL_NODE_PARAMS) *cu.CUDA_KERNEL_NODE_PARAMS_v1 {
	return (*cu.CUDA_KERNEL_NODE_PARAMS_v1)(unsafe.Pointer(p))
}

// setAttributes sets the attributes of a new node. If that fails, it removes the node.
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

// addRare adds nodes of rare types: batches of memory operations (CUDA 11.7) and external
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

// boundTo returns the driver bound to the context of op, for operations whose parameters do not
// name a context.
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

// setElsewhere sets copies and fills in a graph whose nodes have several contexts. The
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
