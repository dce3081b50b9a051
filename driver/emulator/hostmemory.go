package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Page-locked memory is ordinary Go memory that does not move. With unified addressing, a kernel
// reaches it at its host address. It is therefore a region of the device's address space like any
// other, and the region keeps it alive.

var hostMemoryFunctions = functions{
	"cuMemHostAlloc":               {cuMemHostAlloc, currentUnsafe},
	"cuMemAllocHost_v2":            {cuMemAllocHost, currentUnsafe},
	"cuMemFreeHost":                {cuMemFreeHost, currentUnsafe},
	"cuMemHostRegister_v2":         {cuMemHostRegister, currentUnsafe},
	"cuMemHostUnregister":          {cuMemHostUnregister, currentUnsafe},
	"cuMemHostGetDevicePointer_v2": {cuMemHostGetDevicePointer, current},
	"cuMemHostGetFlags":            {cuMemHostGetFlags, current},
}

var managedFunctions = functions{
	"cuMemAllocManaged": {cuMemAllocManaged, currentUnsafe},
}

const (
	pageSize          = 4096
	hostAllocFlags    = cu.CU_MEMHOSTALLOC_PORTABLE | cu.CU_MEMHOSTALLOC_DEVICEMAP | cu.CU_MEMHOSTALLOC_WRITECOMBINED
	hostRegisterFlags = cu.CU_MEMHOSTREGISTER_PORTABLE | cu.CU_MEMHOSTREGISTER_DEVICEMAP |
		cu.CU_MEMHOSTREGISTER_IOMEMORY | cu.CU_MEMHOSTREGISTER_READ_ONLY
)

// newPages makes zeroed memory that is aligned to a page.
func newPages(size uint64) ([]byte, bool) {
	b, err := vm.NewBuffer(size + pageSize)
	if err != nil || size == 0 {
		return nil, false
	}
	skip := -uintptr(unsafe.Pointer(&b[0])) % pageSize
	return b[skip : uint64(skip)+size : uint64(skip)+size], true
}

// mapHost makes host memory known to the device.
func (e *Emulator) mapHost(b []byte, a *allocation, kind vm.RegionKind) result {
	addr, err := e.mem.MapHost(b, vm.AllocOptions{Kind: kind, Tag: a.by, User: a})
	if err != nil {
		return cu.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
	}
	a.addr, a.size, a.id = addr, uint64(len(b)), e.id()
	return success
}

func cuMemHostAlloc(c call) result { return allocHost(c, c.Uint32(2), "cuMemHostAlloc") }

func cuMemAllocHost(c call) result { return allocHost(c, 0, "cuMemAllocHost") }

func allocHost(c call, flags uint32, by string) result {
	out, size := at[unsafe.Pointer](c, 0), c.Uint64(1)
	if out == nil || flags&^uint32(hostAllocFlags) != 0 {
		return errInvalidValue
	}
	if size == 0 {
		*out = nil
		return success
	}
	if size > c.e.cfg.Limits.HostMemory || c.e.hostBytes > c.e.cfg.Limits.HostMemory-size {
		return errOutOfMemory
	}
	b, ok := newPages(size)
	if !ok {
		return errOutOfMemory
	}
	a := &allocation{kind: pageLocked, ctx: c.ctx, dev: c.ctx.dev, hostFlags: flags | cu.CU_MEMHOSTALLOC_DEVICEMAP, by: by}
	if r := c.e.mapHost(b, a, vm.RegionHost); r != success {
		return r
	}
	c.e.hostBytes += size
	*out = unsafe.Pointer(&b[0])
	return success
}

// hostAt returns the page-locked allocation that contains the pointer of argument i.
func hostAt(c call, i int) *allocation {
	a := c.e.allocationAt(c.Uint64(i))
	if a == nil || (a.kind != pageLocked && a.kind != registered) {
		return nil
	}
	return a
}

func cuMemFreeHost(c call) result {
	if c.Word(0) == 0 {
		return success
	}
	a := hostAt(c, 0)
	if a == nil || a.kind != pageLocked || a.addr != c.Uint64(0) {
		return errInvalidValue
	}
	a.dev.wait()
	c.e.release(a, "cuMemFreeHost")
	return c.ctx.dev.fault
}

// cuMemHostRegister keeps a reference to the caller's memory until it is unregistered, which is the
// purpose of the function.
func cuMemHostRegister(c call) result {
	p, size, flags := c.Ptr(0), c.Uint64(1), c.Uint32(2)
	if p == nil || size == 0 || flags&^uint32(hostRegisterFlags) != 0 {
		return errInvalidValue
	}
	if old := hostAt(c, 0); old != nil && old.kind == pageLocked {
		return errInvalidValue
	}
	a := &allocation{kind: registered, ctx: c.ctx, dev: c.ctx.dev, hostFlags: flags | cu.CU_MEMHOSTREGISTER_DEVICEMAP, by: "cuMemHostRegister"}
	return c.e.mapHost(unsafe.Slice((*byte)(p), size), a, vm.RegionHost)
}

func cuMemHostUnregister(c call) result {
	a := hostAt(c, 0)
	switch {
	case c.Word(0) == 0:
		return errInvalidValue
	case a != nil && (a.kind == pageLocked || a.addr != c.Uint64(0)):
		return errInvalidValue
	case a == nil:
		return cu.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
	}
	a.dev.wait()
	c.e.release(a, "cuMemHostUnregister")
	return c.ctx.dev.fault
}

func cuMemHostGetDevicePointer(c call) result {
	if c.Ptr(0) == nil || c.Uint32(2) != 0 || hostAt(c, 1) == nil {
		return errInvalidValue
	}
	return put(c, 0, cu.CUdeviceptr(c.Uint64(1)))
}

func cuMemHostGetFlags(c call) result {
	a := hostAt(c, 1)
	if a == nil {
		return errInvalidValue
	}
	return put(c, 0, a.hostFlags)
}

// cuMemAllocManaged makes memory that host and device see at one address. There is nothing to
// migrate.
func cuMemAllocManaged(c call) result {
	size, flags := c.Uint64(1), c.Uint32(2)
	if c.Ptr(0) == nil || size == 0 ||
		(flags != uint32(cu.CU_MEM_ATTACH_GLOBAL) && flags != uint32(cu.CU_MEM_ATTACH_HOST)) {
		return errInvalidValue
	}
	if !c.ctx.dev.charge(size) {
		return errOutOfMemory
	}
	b, ok := newPages(size)
	if !ok {
		c.ctx.dev.refund(size)
		return errOutOfMemory
	}
	a := &allocation{kind: managedMemory, ctx: c.ctx, dev: c.ctx.dev, by: "cuMemAllocManaged"}
	if r := c.e.mapHost(b, a, vm.RegionManaged); r != success {
		return r
	}
	return put(c, 0, cu.CUdeviceptr(a.addr))
}
