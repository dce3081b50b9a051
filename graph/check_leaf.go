package graph

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
)

// leaf enters what a node uses that has no graph inside.
func (c *checker) leaf(n Node, t Type, v int, k *kernelNodes) error {
	declared := n.g.accesses.DeclaredUses(n.i)
	for _, a := range declared {
		c.use(v, a)
	}
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		return c.kernel(n, v, k, len(declared) > 0)
	case cu.CU_GRAPH_NODE_TYPE_MEMCPY:
		return c.copy(n, v)
	case cu.CU_GRAPH_NODE_TYPE_MEMSET:
		return c.fill(n, v)
	case cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return c.memOp(n, v)
	case cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return c.alloc(n, v)
	case cu.CU_GRAPH_NODE_TYPE_MEM_FREE:
		return c.free(n, v)
	case cu.CU_GRAPH_NODE_TYPE_HOST:
		if len(declared) == 0 {
			c.unknown(n, "it is a host function, and nothing was declared")
		}
	}
	return nil
}

func (c *checker) use(v int, a driver.Access) {
	if a.Bytes > 0 && a.Mode != 0 {
		c.uses = append(c.uses, access.StepAccess{Step: v, Access: a})
	}
}

func (c *checker) kernel(n Node, v int, k *kernelNodes, declared bool) error {
	f := k.sets[n.i]
	if f.Set == nil {
		if !declared {
			c.unknown(n, "no launch is known that it came from")
		}
		return nil
	}
	for _, a := range f.List() {
		c.use(v, a)
	}
	arg, found, err := c.address(f, k.params[n.i])
	if found && !declared {
		c.unknown(n, fmt.Sprintf("%s is an address of device memory of which no more is known", f.Kernel.ArgName(arg)))
	}
	return err
}

// address finds an argument that is an address and was passed as a number.
func (c *checker) address(f access.Found, params *cu.CUDA_KERNEL_NODE_PARAMS) (arg int, found bool, err error) {
	list, _ := f.Kernel.Params()
	for i, p := range list {
		if p.Size != 8 || p.Type == ".f64" || f.Covers(i) || params.KernelParams == nil {
			continue
		}
		_, size, err := c.allocation(access.Argument(params, i))
		if err != nil || size > 0 {
			return i, err == nil, err
		}
	}
	return 0, false, nil
}

// allocation returns the piece of device memory that an address lies in, none
// for what is no address of the device.
func (c *checker) allocation(addr uint64) (base, size uint64, err error) {
	if addr == 0 {
		return 0, 0, nil
	}
	var at driver.CUdeviceptr
	var n uintptr
	err = c.d.CuMemGetAddressRange(&at, &n, driver.CUdeviceptr(addr))
	switch resultOf(err) {
	case driver.CUDA_ERROR_NOT_FOUND, driver.CUDA_ERROR_INVALID_VALUE, driver.CUDA_ERROR_NOT_SUPPORTED:
		return 0, 0, nil
	}
	return uint64(at), uint64(n), err
}

func (c *checker) copy(n Node, v int) error {
	var p cu.CUDA_MEMCPY3D
	if err := n.g.d.CuGraphMemcpyNodeGetParams(n.handle(), &p); err != nil {
		return err
	}
	dst := copyEnd(p.DstMemoryType, p.DstDevice, p.DstHost)
	src := copyEnd(p.SrcMemoryType, p.SrcDevice, p.SrcHost)
	if dst == 0 || src == 0 {
		c.unknown(n, "it copies to or from an array")
	}
	rows := func(a driver.Access, x, y, z, pitch, height uintptr) {
		if a.Addr == 0 {
			return
		}
		pitch, height = max(pitch, x+p.WidthInBytes), max(height, y+p.Height)
		a.Addr += uint64((z*height+y)*pitch + x)
		a.SetRows(p.WidthInBytes, pitch, p.Height, height*pitch, p.Depth)
		c.use(v, a)
	}
	rows(driver.Access{Addr: dst, Mode: driver.Writes, What: "destination"}, p.DstXInBytes, p.DstY, p.DstZ, p.DstPitch, p.DstHeight)
	rows(driver.Access{Addr: src, Mode: driver.Reads, Arg: 1, What: "source"}, p.SrcXInBytes, p.SrcY, p.SrcZ, p.SrcPitch, p.SrcHeight)
	return nil
}

// copyEnd is the address of one end of a copy, 0 for an array.
func copyEnd(t cu.CUmemorytype, dev driver.CUdeviceptr, host unsafe.Pointer) uint64 {
	switch t {
	case cu.CU_MEMORYTYPE_DEVICE, cu.CU_MEMORYTYPE_UNIFIED:
		return uint64(dev)
	case cu.CU_MEMORYTYPE_HOST:
		return uint64(uintptr(host))
	}
	return 0
}

func (c *checker) fill(n Node, v int) error {
	var p cu.CUDA_MEMSET_NODE_PARAMS
	if err := n.g.d.CuGraphMemsetNodeGetParams(n.handle(), &p); err != nil {
		return err
	}
	a := driver.Access{Addr: uint64(p.Dst), Mode: driver.Writes, What: "destination"}
	a.SetRows(p.Width*uintptr(p.ElementSize), p.Pitch, p.Height, 0, 1)
	c.use(v, a)
	return nil
}

// memOp enters the words that are written. To wait for a word is to take part in
// an order that dependencies say nothing of, and no conflict with who writes it.
func (c *checker) memOp(n Node, v int) error {
	var p cu.CUDA_BATCH_MEM_OP_NODE_PARAMS
	if err := n.g.d.CuGraphBatchMemOpNodeGetParams(n.handle(), &p); err != nil {
		return err
	}
	for i, step := range unsafe.Slice(p.ParamArray, p.Count) {
		a := driver.Access{Mode: driver.Writes, Arg: int32(i), What: fmt.Sprintf("the word of step %d", i)}
		switch *step.Operation() {
		case cu.CU_STREAM_MEM_OP_WRITE_VALUE_64:
			a.Bytes = 8
		case cu.CU_STREAM_MEM_OP_WRITE_VALUE_32:
			a.Bytes = 4
		default:
			continue
		}
		a.Addr = uint64(step.WriteValue().Address)
		c.use(v, a)
	}
	return nil
}

// alloc enters an allocation, before which nothing may use the memory.
func (c *checker) alloc(n Node, v int) error {
	var p cu.CUDA_MEM_ALLOC_NODE_PARAMS
	if err := n.g.d.CuGraphMemAllocNodeGetParams(n.handle(), &p); err != nil {
		return err
	}
	if c.allocs == nil {
		c.allocs = make(map[uint64]uint64)
	}
	c.allocs[uint64(p.Dptr)] = uint64(p.Bytesize)
	c.use(v, driver.Access{Addr: uint64(p.Dptr), Bytes: uint64(p.Bytesize), Mode: driver.Writes, What: "memory that it allocates"})
	return nil
}

// free enters a free, after which nothing may use the memory.
func (c *checker) free(n Node, v int) error {
	var ptr driver.CUdeviceptr
	if err := n.g.d.CuGraphMemFreeNodeGetParams(n.handle(), &ptr); err != nil {
		return err
	}
	c.use(v, driver.Access{Addr: uint64(ptr), Bytes: max(c.allocs[uint64(ptr)], 1), Mode: driver.Writes, What: "memory that it frees"})
	return nil
}
