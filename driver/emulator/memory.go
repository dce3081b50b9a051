package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/advice"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// allocation is the driver's record of allocated memory. The User field of the memory's region
// refers to it.
type allocation struct {
	addr, size uint64
	kind       allocationKind
	ctx        *cudaContext // the context that owns the memory; nil for memory from a pool
	dev        *device
	id         uint64
	by         string // the function that allocated the memory

	hostFlags  uint32         // only for page-locked memory
	pool       *pool          // the pool that stream-ordered memory belongs to
	node       *allocNode     // the node that allocated graph memory
	releasing  bool           // set once a free is queued; the pointer is then already invalid
	asyncMemOp bool           // the program has cleared CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
	advice     *advice.Ranges // advice about managed memory, or nil
	array      bool           // set for the memory of a CUDA array, whose address the program does not know
}

type allocationKind uint8

const (
	deviceMemory allocationKind = iota
	pageLocked                  // allocated by the driver
	registered                  // allocated and registered by the program
	managedMemory
	pooledMemory
	graphMemoryKind
)

// granularity is the unit, in bytes, of the pitches that cuMemAllocPitch returns.
const granularity = 512

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

func (ctx *cudaContext) allocate(size uint64, by string) (uint64, result) {
	e := ctx.e
	if !ctx.dev.Charge(size) {
		ctx.dev.trimPools()
		if !ctx.dev.Charge(size) {
			return 0, errOutOfMemory
		}
	}
	a := &allocation{size: size, kind: deviceMemory, ctx: ctx, dev: ctx.dev, id: e.id(), by: by}
	addr, err := e.mem.Alloc(size, vm.AllocOptions{Device: ctx.dev.ordinal, Kind: vm.RegionDevice, Tag: by, User: a})
	if err != nil {
		ctx.dev.Refund(size)
		return 0, errOutOfMemory
	}
	a.addr = addr
	return addr, success
}

// allocationAt returns the allocation at an address, or nil. Module variables and mappings are not
// allocations.
func (e *Emulator) allocationAt(addr uint64) *allocation {
	r, ok := e.mem.Find(addr)
	if !ok {
		return nil
	}
	a, _ := r.User.(*allocation)
	return a
}

func (e *Emulator) release(a *allocation, by string) {
	if _, err := e.mem.Free(a.addr, by); err != nil {
		return // the region has already been freed
	}
	e.dropFlights(a.addr, a.size)
	e.dropSignals(a.addr, a.size)
	switch a.kind {
	case deviceMemory, managedMemory:
		a.dev.Refund(a.size)
	case pageLocked:
		e.hostBytes -= a.size
	case pooledMemory:
		a.pool.Release(a.size)
	case graphMemoryKind:
		a.node.unmapped(a.dev)
	}
}

// reclaimMemory frees the memory that a closing context still owns.
func (e *Emulator) reclaimMemory(ctx *cudaContext, by string) {
	for _, r := range e.mem.All() {
		if a, ok := r.User.(*allocation); ok && a.ctx == ctx {
			if ctx.dev.fault == success {
				e.reclaimed = append(e.reclaimed, e.leakOf(a, by))
			}
			e.release(a, by)
		}
	}
}

var memoryFunctions = functions{
	"cuMemAlloc_v2":           {cuMemAlloc, currentUnsafe},
	"cuMemAllocPitch_v2":      {cuMemAllocPitch, currentUnsafe},
	"cuMemFree_v2":            {cuMemFree, afterInit | uncaptured},
	"cuMemGetInfo_v2":         {cuMemGetInfo, current},
	"cuMemGetAddressRange_v2": {cuMemGetAddressRange, current},
}

func cuMemAlloc(c call) result {
	size := c.Uint64(1)
	if c.Ptr(0) == nil || size == 0 {
		return errInvalidValue
	}
	addr, r := c.ctx.allocate(size, "cuMemAlloc")
	if r != success {
		return r
	}
	return put(c, 0, cu.CUdeviceptr(addr))
}

func cuMemAllocPitch(c call) result {
	width, height, element := c.Uint64(2), c.Uint64(3), c.Uint32(4)
	switch {
	case c.Ptr(0) == nil, c.Ptr(1) == nil, width == 0, height == 0,
		element != 4 && element != 8 && element != 16:
		return errInvalidValue
	}
	pitch := roundUp(width, granularity)
	if pitch < width || pitch*height/height != pitch {
		return errOutOfMemory
	}
	addr, r := c.ctx.allocate(pitch*height, "cuMemAllocPitch")
	if r != success {
		return r
	}
	*at[uintptr](c, 1) = uintptr(pitch)
	return put(c, 0, cu.CUdeviceptr(addr))
}

// cuMemFree waits for the device, because work in flight may use the memory.
func cuMemFree(c call) result {
	addr := c.Uint64(0)
	if addr == 0 {
		return success
	}
	if n := c.e.graphAllocs[addr]; n != nil && n.live {
		n.live = false
		n.ctx.dev.wait()
		n.unmap(c.e, "cuMemFree")
		n.freedOutside = true
		return n.ctx.dev.fault
	}
	a := c.e.allocationAt(addr)
	if a == nil || a.addr != addr || a.releasing || a.array || a.isHost() {
		return errInvalidValue
	}
	if a.dev.fault != success {
		return a.dev.fault
	}
	a.releasing = true
	a.dev.wait()
	c.e.release(a, "cuMemFree")
	return a.dev.fault
}

func (d *device) wait() {
	waitAll(d.contexts...)
}

func cuMemGetInfo(c call) result {
	return c.putWords(uintptr(c.ctx.dev.Left()), uintptr(c.e.cfg.MemorySize))
}

func cuMemGetAddressRange(c call) result {
	r, ok := c.e.mem.Find(c.Uint64(2))
	if !ok {
		return errNotFound
	}
	return c.putWords(uintptr(r.Addr), uintptr(r.Size))
}

// Page-locked memory is Go memory, which does not move. With unified addressing, kernels access it
// at its host address, so it is a region of the device's address space. The region keeps the memory
// alive.

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

// newPages allocates zeroed memory that begins at a page boundary.
func newPages(size uint64) ([]byte, bool) {
	b, err := vm.NewBuffer(size + pageSize)
	if err != nil || size == 0 {
		return nil, false
	}
	skip := -uintptr(unsafe.Pointer(&b[0])) % pageSize
	return b[skip : uint64(skip)+size : uint64(skip)+size], true
}

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

// hostAt returns the page-locked allocation that contains the address passed as argument i, or nil.
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

// cuMemHostRegister keeps a reference to the caller's memory until the memory is unregistered.
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

// cuMemAllocManaged allocates memory that the host and the device access at the same address. The
// emulator never migrates it.
func cuMemAllocManaged(c call) result {
	size, flags := c.Uint64(1), c.Uint32(2)
	if c.Ptr(0) == nil || size == 0 ||
		(flags != uint32(cu.CU_MEM_ATTACH_GLOBAL) && flags != uint32(cu.CU_MEM_ATTACH_HOST)) {
		return errInvalidValue
	}
	if !c.ctx.dev.Charge(size) {
		return errOutOfMemory
	}
	b, ok := newPages(size)
	if !ok {
		c.ctx.dev.Refund(size)
		return errOutOfMemory
	}
	a := &allocation{kind: managedMemory, ctx: c.ctx, dev: c.ctx.dev, by: "cuMemAllocManaged"}
	if r := c.e.mapHost(b, a, vm.RegionManaged); r != success {
		return r
	}
	return put(c, 0, cu.CUdeviceptr(a.addr))
}

var pointerFunctions = functions{
	"cuPointerGetAttribute":  {cuPointerGetAttribute, afterInit},
	"cuPointerGetAttributes": {cuPointerGetAttributes, afterInit},
	"cuPointerSetAttribute":  {cuPointerSetAttribute, afterInit},
}

func cuPointerGetAttribute(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	return c.pointerAttribute(c.Ptr(0), cu.CUpointer_attribute(c.Uint32(1)), c.Uint64(2))
}

// cuPointerGetAttributes stores zeros for an unknown pointer.
func cuPointerGetAttributes(c call) result {
	n := int(c.Uint32(0))
	attrs, data := list[cu.CUpointer_attribute](c, 1, n), list[unsafe.Pointer](c, 2, n)
	if n == 0 || attrs == nil || data == nil {
		return errInvalidValue
	}
	addr := c.Uint64(3)
	for i, attr := range attrs {
		if data[i] == nil {
			return errInvalidValue
		}
		if c.pointerAttribute(data[i], attr, addr) != success {
			clear(unsafe.Slice((*byte)(data[i]), attributeSize(attr)))
			if attr == cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL {
				*(*int32)(data[i]) = -2
			}
		}
	}
	return success
}

// attributeSize returns the size of a pointer attribute's value in bytes.
func attributeSize(attr cu.CUpointer_attribute) int {
	switch attr {
	case cu.CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return 16
	case cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, cu.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
		cu.CU_POINTER_ATTRIBUTE_IS_MANAGED, cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		cu.CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, cu.CU_POINTER_ATTRIBUTE_MAPPED,
		cu.CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, cu.CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
		cu.CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return 4
	}
	return 8
}

func (a *allocation) isHost() bool { return a.kind == pageLocked || a.kind == registered }

func (c call) pointerAttribute(out unsafe.Pointer, attr cu.CUpointer_attribute, addr uint64) result {
	region, ok := c.e.mem.Find(addr)
	if !ok {
		return errInvalidValue
	}
	a, _ := region.User.(*allocation)
	if a == nil {
		a = &allocation{addr: region.Addr, size: region.Size, dev: c.e.deviceOf(region)}
	}
	word := func(v uint32) { *(*uint32)(out) = v }
	long := func(v uint64) { *(*uint64)(out) = v }
	switch attr {
	case cu.CU_POINTER_ATTRIBUTE_CONTEXT:
		if a.ctx == nil {
			long(0)
		} else {
			long(uint64(a.ctx.handle))
		}
	case cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		if a.isHost() {
			word(uint32(cu.CU_MEMORYTYPE_HOST))
		} else {
			word(uint32(cu.CU_MEMORYTYPE_DEVICE))
		}
	case cu.CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		if !c.reaches(region) {
			return errInvalidValue
		}
		long(addr)
	case cu.CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if !a.isHost() && a.kind != managedMemory {
			return errInvalidValue
		}
		long(addr)
	case cu.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		word(uint32(flag(!a.asyncMemOp)))
	case cu.CU_POINTER_ATTRIBUTE_BUFFER_ID:
		long(a.id)
	case cu.CU_POINTER_ATTRIBUTE_IS_MANAGED:
		word(uint32(flag(a.kind == managedMemory)))
	case cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(*int32)(out) = int32(a.dev.ordinal)
	case cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, cu.CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		long(region.Addr)
	case cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE, cu.CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		long(region.Size)
	case cu.CU_POINTER_ATTRIBUTE_MAPPED:
		word(1)
	case cu.CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		long(0)
	case cu.CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		*(*[2]uint64)(out) = [2]uint64{a.id, uint64(a.dev.ordinal)}
	case cu.CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
		cu.CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
		cu.CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		word(0)
	case cu.CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		word(uint32(cu.CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE))
	case cu.CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		if a.pool == nil {
			long(0)
		} else {
			long(uint64(a.pool.handle))
		}
	case cu.CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		long(a.id)
	default:
		return errInvalidValue
	}
	return success
}

// reaches reports whether kernels in the current context may access the region.
func (c call) reaches(r *vm.Region) bool {
	if c.ctx == nil || r.Device == vm.HostDevice || r.Device == c.ctx.dev.ordinal {
		return true
	}
	if r.Reach != nil {
		read, _ := r.Reach.May(c.ctx.dev.ordinal)
		return read
	}
	for peer := range c.ctx.peers {
		if peer.dev.ordinal == r.Device {
			return true
		}
	}
	return false
}

func (e *Emulator) deviceOf(r *vm.Region) *device {
	if r.Device >= 0 && r.Device < len(e.devices) {
		return e.devices[r.Device]
	}
	return e.devices[0]
}

func cuPointerSetAttribute(c call) result {
	v := at[uint32](c, 0)
	a := c.e.allocationAt(c.Uint64(2))
	if v == nil || a == nil || cu.CUpointer_attribute(c.Uint32(1)) != cu.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
		return errInvalidValue
	}
	a.asyncMemOp = *v == 0
	return success
}
