package graph

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostcall"
	"github.com/purecuda/cuda/internal/life"
)

// get makes a driver call for the node with its graph locked. If the call fails and the node is not
// of type want, the error says so.
func (n Node) get(want Type, call func(d *driver.Driver) error) error {
	if err := n.lock(); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	err := n.g.explainType(n, want, call(n.g.d))
	n.g.alive()
	if err != nil {
		return fmt.Errorf("parameters of %v of %v: %w", n, n.g, err)
	}
	return nil
}

// nodeParams constrains the types that ParamsOf returns.
type nodeParams interface {
	cu.CUDA_KERNEL_NODE_PARAMS | cu.CUDA_MEMCPY3D | cu.CUDA_MEMSET_NODE_PARAMS | cu.CUDA_HOST_NODE_PARAMS |
		cu.CUDA_MEM_ALLOC_NODE_PARAMS | cu.CUDA_BATCH_MEM_OP_NODE_PARAMS |
		cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS | cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS |
		driver.CUevent | driver.CUdeviceptr
}

// ParamsOf returns the parameters of a node. P is the type that the node must have:
//
//   - cu.CUDA_KERNEL_NODE_PARAMS, a kernel. Either Func or Kern is set. The arguments that
//     KernelParams points to belong to the node and stay valid until it is changed or destroyed. To
//     copy them, use Node.KernelArgs.
//   - cu.CUDA_MEMCPY3D, a copy
//   - cu.CUDA_MEMSET_NODE_PARAMS, a fill. Width counts elements of ElementSize bytes.
//   - cu.CUDA_HOST_NODE_PARAMS, a host function: for a driver.HostFunc, the value of its NodeParams
//   - driver.CUevent, the event of an event record or event wait node (CUDA 11.1)
//   - cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS and cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS, external semaphores
//     (CUDA 11.2). The arrays are copies.
//   - cu.CUDA_MEM_ALLOC_NODE_PARAMS, an allocation, with its address, and driver.CUdeviceptr, the
//     address that a free node frees (CUDA 11.4)
//   - cu.CUDA_BATCH_MEM_OP_NODE_PARAMS, memory operations (CUDA 11.7). The array is a copy.
func ParamsOf[P nodeParams](n Node) (P, error) {
	p := new(P)
	err := n.params(p)
	return *p, err
}

// params stores the node's parameters at p.
func (n Node) params(p any) error {
	switch p := p.(type) {
	case *cu.CUDA_KERNEL_NODE_PARAMS:
		return n.get(cu.CU_GRAPH_NODE_TYPE_KERNEL, func(d *driver.Driver) error { return n.kernelParams(d, p) })
	case *cu.CUDA_MEMCPY3D:
		return n.get(cu.CU_GRAPH_NODE_TYPE_MEMCPY, func(d *driver.Driver) error { return d.CuGraphMemcpyNodeGetParams(n.handle(), p) })
	case *cu.CUDA_MEMSET_NODE_PARAMS:
		return n.get(cu.CU_GRAPH_NODE_TYPE_MEMSET, func(d *driver.Driver) error { return d.CuGraphMemsetNodeGetParams(n.handle(), p) })
	case *cu.CUDA_HOST_NODE_PARAMS:
		return n.get(cu.CU_GRAPH_NODE_TYPE_HOST, func(d *driver.Driver) error { return d.CuGraphHostNodeGetParams(n.handle(), p) })
	case *cu.CUDA_MEM_ALLOC_NODE_PARAMS:
		return n.get(cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC, func(d *driver.Driver) error { return d.CuGraphMemAllocNodeGetParams(n.handle(), p) })
	case *driver.CUdeviceptr:
		return n.get(cu.CU_GRAPH_NODE_TYPE_MEM_FREE, func(d *driver.Driver) error { return d.CuGraphMemFreeNodeGetParams(n.handle(), p) })
	case *driver.CUevent:
		return n.event(p)
	case *cu.CUDA_BATCH_MEM_OP_NODE_PARAMS:
		return n.get(cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, func(d *driver.Driver) error {
			err := d.CuGraphBatchMemOpNodeGetParams(n.handle(), p)
			p.ParamArray = copied(p.ParamArray, p.Count)
			return err
		})
	case *cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS:
		return n.get(cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, func(d *driver.Driver) error {
			err := d.CuGraphExternalSemaphoresSignalNodeGetParams(n.handle(), p)
			p.ExtSemArray, p.ParamsArray = copied(p.ExtSemArray, p.NumExtSems), copied(p.ParamsArray, p.NumExtSems)
			return err
		})
	}
	w := p.(*cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS)
	return n.get(cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, func(d *driver.Driver) error {
		err := d.CuGraphExternalSemaphoresWaitNodeGetParams(n.handle(), w)
		w.ExtSemArray, w.ParamsArray = copied(w.ExtSemArray, w.NumExtSems), copied(w.ParamsArray, w.NumExtSems)
		return err
	})
}

func (n Node) event(e *driver.CUevent) error {
	t, err := n.Type()
	if err != nil {
		return err
	}
	if t == cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT {
		return n.get(t, func(d *driver.Driver) error { return d.CuGraphEventWaitNodeGetEvent(n.handle(), e) })
	}
	return n.get(cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD, func(d *driver.Driver) error { return d.CuGraphEventRecordNodeGetEvent(n.handle(), e) })
}

func copied[T any](at *T, n uint32) *T {
	if at == nil || n == 0 {
		return nil
	}
	return unsafe.SliceData(append([]T(nil), unsafe.Slice(at, n)...))
}

// kernelParams calls the newest ABI that the driver has.
func (n Node) kernelParams(d *driver.Driver, p *cu.CUDA_KERNEL_NODE_PARAMS) error {
	if n.g.v2 {
		return d.CuGraphKernelNodeGetParams(n.handle(), p)
	}
	return d.CuGraphKernelNodeGetParams_v10000(n.handle(), v1(p))
}

// KernelArgs returns a copy of each argument of a kernel node (CUDA 12.4).
func (n Node) KernelArgs() (args [][]byte, err error) {
	err = n.get(cu.CU_GRAPH_NODE_TYPE_KERNEL, func(d *driver.Driver) error {
		var p cu.CUDA_KERNEL_NODE_PARAMS
		if err := n.kernelParams(d, &p); err != nil {
			return err
		}
		args, err = argsOf(d, &p)
		return err
	})
	return args, err
}

func argsOf(d *driver.Driver, p *cu.CUDA_KERNEL_NODE_PARAMS) (args [][]byte, err error) {
	for i := 0; ; i++ {
		var offset, size uintptr
		if p.Func != 0 {
			err = d.CuFuncGetParamInfo(p.Func, uintptr(i), &offset, &size)
		} else {
			err = d.CuKernelGetParamInfo(p.Kern, uintptr(i), &offset, &size)
		}
		if errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) { // past the last argument
			return args, nil
		}
		if err != nil {
			return nil, err
		}
		if p.KernelParams == nil {
			return nil, invalid("the driver does not say where the arguments of the kernel are")
		}
		at := *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(p.KernelParams), uintptr(i)*unsafe.Sizeof(p.KernelParams)))
		args = append(args, append([]byte(nil), unsafe.Slice((*byte)(at), size)...))
	}
}

// AddNode adds a node of any type from CUDA's tagged parameters (CUDA 12.2). Use it if this package
// has no operation for the node. The driver writes its results to p, such as an allocation's
// address or the bodies of a conditional node.
//
// The graph does not know which objects p refers to. It keeps alive the objects passed as keep. A
// child graph is copied. To move a child graph, use AddChildMove.
func (g *Graph) AddNode(p *cu.CUgraphNodeParams, deps []Node, keep ...life.Ref) (Node, error) {
	if !g.exists() {
		return Node{}, aGraph.Error(g == nil)
	}
	if p == nil {
		return Node{}, invalid("cannot add a node to %v: nil parameters", g)
	}
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	n, err := g.addNode(p, deps, keep)
	g.mu.Unlock()
	runtime.KeepAlive(keep)
	g.alive()
	if err != nil {
		return Node{}, fmt.Errorf("cannot add a node of type %v to %v: %w", p.Type, g, err)
	}
	return n, nil
}

func (g *Graph) addNode(p *cu.CUgraphNodeParams, deps []Node, keep []life.Ref) (Node, error) {
	if p.Type == cu.CU_GRAPH_NODE_TYPE_GRAPH && p.Graph().Ownership == cu.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE {
		return Node{}, invalid("a child graph that is handed over belongs to a Graph, which would destroy it as well; use AddChildMove")
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	o := g.changeRefs()
	if err := o.RetainGiven(keep); err != nil {
		return Node{}, err
	}
	var raw cu.CUgraphNode
	if err := g.addGeneric(&raw, from, nil, uintptr(len(deps)), p); err != nil {
		o.Abandon()
		o.Flush()
		return Node{}, err
	}
	g.commitNew(o)
	n := g.added(raw)
	if p.Type == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
		n.enterTagged(p.Conditional())
	}
	return n, nil
}

// enterTagged records the bodies, for Bodies, of a conditional node that was added from tagged
// parameters.
func (n Node) enterTagged(p *cu.CUDA_CONDITIONAL_NODE_PARAMS) {
	if p.PhGraph_out != nil {
		n.enterBodies(form{p.Type, int(p.Size)}, Cond{n.g.outermost(), p.Handle}, p.PhGraph_out)
	}
}

// SetParams sets a graph's node to CUDA's tagged parameters (CUDA 12.2), whose type must match the
// node's. The objects passed as keep replace those that the graph kept alive for the node.
func (n Node) SetParams(p *cu.CUgraphNodeParams, keep ...life.Ref) error {
	if err := n.lock(); err != nil {
		return fmt.Errorf("cannot set %v: %w", n, err)
	}
	err := n.g.setParams(n, p, keep)
	n.g.mu.Unlock()
	runtime.KeepAlive(keep)
	if err != nil {
		return fmt.Errorf("cannot set %v of %v: %w", n, n.g, err)
	}
	return nil
}

func (g *Graph) setParams(n Node, p *cu.CUgraphNodeParams, keep []life.Ref) error {
	if p == nil {
		return invalid("nil parameters")
	}
	o := g.changeRefs()
	if err := o.RetainGiven(keep); err != nil {
		return err
	}
	err := g.d.CuGraphNodeSetParams(n.handle(), p)
	if err != nil {
		o.Abandon()
	} else {
		n.forgetParts() // the previous child graph no longer exists
		g.accesses.Forget(n.i)
		g.commit(o, n)
	}
	o.Flush()
	return g.explainType(n, p.Type, err)
}

// SetParams is like Set, but accepts CUDA's tagged parameters (CUDA 12.2), whose type must match
// the node's. The objects passed as keep replace those that the Exec kept alive for the node.
func (x *Exec) SetParams(n Node, p *cu.CUgraphNodeParams, keep ...life.Ref) error {
	if err := x.lock(); err != nil {
		return err
	}
	err := x.setParams(n, p, keep)
	x.keep.mu.Unlock()
	runtime.KeepAlive(keep)
	runtime.KeepAlive(x)
	if err != nil {
		return fmt.Errorf("cannot set %v of %v: %w", n, x, err)
	}
	return nil
}

func (x *Exec) setParams(n Node, p *cu.CUgraphNodeParams, keep []life.Ref) error {
	if p == nil {
		return invalid("nil parameters")
	}
	if err := x.has(n); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	o := x.changeRefs()
	if err := o.RetainGiven(keep); err != nil {
		return err
	}
	x.keep.turns |= memoryChanged
	x.uploaded, x.changed = false, true
	err := x.d.CuGraphExecNodeSetParams(x.keep.raw, n.handle(), p)
	if err != nil {
		o.Abandon()
	} else {
		o.Commit(n.i)
	}
	x.keep.ReleaseDropped(o)
	if typed := n.g.explainType(n, p.Type, err); typed != err || p.Type != cu.CU_GRAPH_NODE_TYPE_MEMCPY {
		return typed
	}
	return explainCopy(&p.Memcpy().CopyParams, err)
}

// If the node is not of type want, explainType adds that reason to err.
func (g *Graph) explainType(n Node, want Type, err error) error {
	if err == nil {
		return nil
	}
	var t Type
	if g.d.CuGraphNodeGetType(n.handle(), &t) != nil || t == want {
		return err
	}
	return fmt.Errorf("it is of type %v, but the parameters are of type %v: %w", t, want, err)
}

// tagged converts an operation to the tagged parameters that a node of any type accepts (CUDA
// 12.2). Only tagged parameters can change the context of copies and fills. The collector does not
// see the objects that the parameters point to, so the caller must keep op reachable.
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
		*p.Host() = cu.CUDA_HOST_NODE_PARAMS_v2(op.Uses().Node.(*hostcall.Call).NodeParams())
	case *driver.EventOp:
		event, wait := eventOf(op)
		if wait {
			p.Type = cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT
			p.EventWait().Event = event
			break
		}
		p.Type = cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD
		p.EventRecord().Event = event
	case *driver.MemOp:
		p.Type = cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
		*p.MemOp() = cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2(*op.Uses().Node.(*cu.CUDA_BATCH_MEM_OP_NODE_PARAMS))
	case *driver.SemaphoreOp:
		of := op.Uses().Node
		if wait, ok := of.(*cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS); ok {
			p.Type = cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT
			*p.ExtSemWait() = cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2(*wait)
			break
		}
		p.Type = cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
		*p.ExtSemSignal() = cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2(*of.(*cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS))
	default:
		return p, unknown(op)
	}
	return p, nil
}

// taggedCopy stores the parameters of a copy in p, or those of an empty node if the copy has no
// bytes.
func taggedCopy(p *cu.CUgraphNodeParams, op *driver.CopyOp) {
	if op.Bytes() == 0 {
		p.Type = cu.CU_GRAPH_NODE_TYPE_EMPTY
		return
	}
	p.Type = cu.CU_GRAPH_NODE_TYPE_MEMCPY
	m := p.Memcpy()
	m.CopyCtx, m.CopyParams = op.Context().Raw(), *op.Uses().Node.(*cu.CUDA_MEMCPY3D)
}

// taggedFill stores the parameters of a fill in p, or those of an empty node if the fill has no
// bytes.
func taggedFill(p *cu.CUgraphNodeParams, op *driver.FillOp) {
	if op.Bytes() == 0 {
		p.Type = cu.CU_GRAPH_NODE_TYPE_EMPTY
		return
	}
	p.Type = cu.CU_GRAPH_NODE_TYPE_MEMSET
	m, f := p.Memset(), op.Uses().Node.(*cu.CUDA_MEMSET_NODE_PARAMS)
	*(*cu.CUDA_MEMSET_NODE_PARAMS)(unsafe.Pointer(m)) = *f // the fields before Ctx
	m.Ctx = op.Context().Raw()
}
