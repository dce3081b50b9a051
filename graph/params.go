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

// nodeParams are the parameters of the types of nodes, as CUDA's structs.
type nodeParams interface {
	cu.CUDA_KERNEL_NODE_PARAMS | cu.CUDA_MEMCPY3D | cu.CUDA_MEMSET_NODE_PARAMS | cu.CUDA_HOST_NODE_PARAMS |
		cu.CUDA_MEM_ALLOC_NODE_PARAMS | cu.CUDA_BATCH_MEM_OP_NODE_PARAMS |
		cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS | cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS |
		driver.CUevent | driver.CUdeviceptr
}

// ParamsOf returns the parameters of a node of the type that P belongs to:
//
//   - cu.CUDA_KERNEL_NODE_PARAMS, a kernel. Either Func or Kern is set. The arguments that
//     KernelParams points to belong to the node and stay valid until it is changed or destroyed. To
//     copy them, use Node.KernelArgs.
//   - cu.CUDA_MEMCPY3D, a copy
//   - cu.CUDA_MEMSET_NODE_PARAMS, a fill. Width counts elements of ElementSize bytes.
//   - cu.CUDA_HOST_NODE_PARAMS, a host function: for a driver.HostFunc what its NodeParams returns
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

// params reads the parameters to where p points.
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

// copied returns a copy of an array that belongs to a node.
func copied[T any](at *T, n uint32) *T {
	if at == nil || n == 0 {
		return nil
	}
	return unsafe.SliceData(append([]T(nil), unsafe.Slice(at, n)...))
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
