package graph

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// get makes a call that asks for the parameters of a node of type want.
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

// KernelParams returns the parameters of a kernel node. Either Func or Kern is set. The arguments
// that KernelParams points to belong to the node and stay valid until it is changed or destroyed.
// To copy them, use KernelArgs.
func (n Node) KernelParams() (p cu.CUDA_KERNEL_NODE_PARAMS, err error) {
	err = n.get(cu.CU_GRAPH_NODE_TYPE_KERNEL, func(d *driver.Driver) error { return n.kernelParams(d, &p) })
	return p, err
}

// kernelParams picks the ABI.
func (n Node) kernelParams(d *driver.Driver, p *cu.CUDA_KERNEL_NODE_PARAMS) error {
	if n.g.v2 {
		return d.CuGraphKernelNodeGetParams(n.handle(), p)
	}
	return d.CuGraphKernelNodeGetParams_v10000(n.handle(), v1(p))
}

// KernelArgs returns a copy of the bytes of each argument of a kernel node (CUDA 12.4).
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
		if errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) { // the one after the last
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

// CopyParams returns the parameters of a copy node.
func (n Node) CopyParams() (p cu.CUDA_MEMCPY3D, err error) {
	err = n.get(cu.CU_GRAPH_NODE_TYPE_MEMCPY, func(d *driver.Driver) error { return d.CuGraphMemcpyNodeGetParams(n.handle(), &p) })
	return p, err
}

// FillParams returns the parameters of a fill node. Width counts elements of
// ElementSize bytes.
func (n Node) FillParams() (p cu.CUDA_MEMSET_NODE_PARAMS, err error) {
	err = n.get(cu.CU_GRAPH_NODE_TYPE_MEMSET, func(d *driver.Driver) error { return d.CuGraphMemsetNodeGetParams(n.handle(), &p) })
	return p, err
}

// HostParams returns the parameters of a host function node. For one that came
// from a driver.HostFunc they are what its NodeParams returns.
func (n Node) HostParams() (p cu.CUDA_HOST_NODE_PARAMS, err error) {
	err = n.get(cu.CU_GRAPH_NODE_TYPE_HOST, func(d *driver.Driver) error { return d.CuGraphHostNodeGetParams(n.handle(), &p) })
	return p, err
}

// Event returns the driver's handle of the event of an event record or event wait node (CUDA 11.1).
func (n Node) Event() (e driver.CUevent, err error) {
	t, err := n.Type()
	if err != nil {
		return 0, err
	}
	if t == cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT {
		err = n.get(t, func(d *driver.Driver) error { return d.CuGraphEventWaitNodeGetEvent(n.handle(), &e) })
		return e, err
	}
	err = n.get(cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD, func(d *driver.Driver) error { return d.CuGraphEventRecordNodeGetEvent(n.handle(), &e) })
	return e, err
}

// MemOpParams are the parameters of a node of memory operations.
type MemOpParams struct {
	Context driver.CUcontext
	Steps   []cu.CUstreamBatchMemOpParams
	Flags   uint32
}

// MemOpParams returns a copy of the parameters of a node of memory operations
// (CUDA 11.7).
func (n Node) MemOpParams() (MemOpParams, error) {
	var m MemOpParams
	err := n.get(cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, func(d *driver.Driver) error {
		var p cu.CUDA_BATCH_MEM_OP_NODE_PARAMS
		if err := d.CuGraphBatchMemOpNodeGetParams(n.handle(), &p); err != nil {
			return err
		}
		m = MemOpParams{p.Ctx, copied(p.ParamArray, p.Count), p.Flags}
		return nil
	})
	return m, err
}

// copied is a copy of an array that belongs to a node.
func copied[T any](at *T, n uint32) []T {
	if at == nil || n == 0 {
		return nil
	}
	return append([]T(nil), unsafe.Slice(at, n)...)
}

// SemaphoreSignalParams are the parameters of a node that signals external semaphores. Params[i]
// belongs to Semaphores[i].
type SemaphoreSignalParams struct {
	Semaphores []driver.CUexternalSemaphore
	Params     []cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS
}

// SemaphoreWaitParams are the parameters of a node that waits for external semaphores. Params[i]
// belongs to Semaphores[i].
type SemaphoreWaitParams struct {
	Semaphores []driver.CUexternalSemaphore
	Params     []cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS
}

// SemaphoreSignalParams returns a copy of the parameters of a node that signals
// external semaphores (CUDA 11.2).
func (n Node) SemaphoreSignalParams() (SemaphoreSignalParams, error) {
	var s SemaphoreSignalParams
	err := n.get(cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, func(d *driver.Driver) error {
		var p cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS
		if err := d.CuGraphExternalSemaphoresSignalNodeGetParams(n.handle(), &p); err != nil {
			return err
		}
		s = SemaphoreSignalParams{copied(p.ExtSemArray, p.NumExtSems), copied(p.ParamsArray, p.NumExtSems)}
		return nil
	})
	return s, err
}

// SemaphoreWaitParams returns a copy of the parameters of a node that waits for
// external semaphores (CUDA 11.2).
func (n Node) SemaphoreWaitParams() (SemaphoreWaitParams, error) {
	var w SemaphoreWaitParams
	err := n.get(cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, func(d *driver.Driver) error {
		var p cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS
		if err := d.CuGraphExternalSemaphoresWaitNodeGetParams(n.handle(), &p); err != nil {
			return err
		}
		w = SemaphoreWaitParams{copied(p.ExtSemArray, p.NumExtSems), copied(p.ParamsArray, p.NumExtSems)}
		return nil
	})
	return w, err
}
