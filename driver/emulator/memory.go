package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/advice"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// allocation is the driver's record of a piece of memory. It is the User of the memory's region in
// the address space.
type allocation struct {
	addr, size uint64
	kind       allocationKind
	ctx        *cudaContext // the context whose memory it is; nil for a pool's
	dev        *device
	id         uint64
	by         string // the function that made it

	hostFlags  uint32         // of page-locked memory
	pool       *pool          // of stream-ordered memory
	node       *allocNode     // of memory that a graph made
	releasing  bool           // a free is queued: the pointer is already invalid
	asyncMemOp bool           // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS was cleared
	advice     *advice.Ranges // of managed memory; nil: none
	array      bool           // of a CUDA array: the program gets no address of it
}

type allocationKind uint8

const (
	deviceMemory allocationKind = iota
	pageLocked                  // made by the driver
	registered                  // made by the user, page-locked by the driver
	managedMemory
	pooledMemory
	graphMemoryKind
)

// granularity is the unit to which allocations are rounded when they are charged.
const granularity = 512

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// charge charges size bytes to the device, and reports whether the device has that much left.
func (d *device) charge(size uint64) bool {
	size = roundUp(size, granularity)
	limit := d.e.cfg.LimitMemory
	if size > limit || d.used > limit-size {
		return false
	}
	d.used += size
	return true
}

// left returns how much memory is not allocated.
func (d *device) left() uint64 { return d.e.cfg.LimitMemory - d.used }

func (d *device) refund(size uint64) { d.used -= roundUp(size, granularity) }

// allocate makes device memory that belongs to the context.
func (ctx *cudaContext) allocate(size uint64, by string) (uint64, result) {
	e := ctx.e
	if !ctx.dev.charge(size) {
		ctx.dev.trimPools()
		if !ctx.dev.charge(size) {
			return 0, errOutOfMemory
		}
	}
	a := &allocation{size: size, kind: deviceMemory, ctx: ctx, dev: ctx.dev, id: e.id(), by: by}
	addr, err := e.mem.Alloc(size, vm.AllocOptions{Device: ctx.dev.ordinal, Kind: vm.RegionDevice, Tag: by, User: a})
	if err != nil {
		ctx.dev.refund(size)
		return 0, errOutOfMemory
	}
	a.addr = addr
	return addr, success
}

// allocationAt returns the allocation at an address. It returns nil if there is none, or only one
// that callers of the driver do not know about.
func (e *Emulator) allocationAt(addr uint64) *allocation {
	r, ok := e.mem.Find(addr)
	if !ok {
		return nil
	}
	a, _ := r.User.(*allocation)
	return a
}

// release ends an allocation of any kind.
func (e *Emulator) release(a *allocation, by string) {
	if _, err := e.mem.Free(a.addr, by); err != nil {
		return // its region is gone already
	}
	e.unflown(a.addr, a.size)
	e.unsignalled(a.addr, a.size)
	switch a.kind {
	case deviceMemory, managedMemory:
		a.dev.refund(a.size)
	case pageLocked:
		e.hostBytes -= a.size
	case pooledMemory:
		a.pool.giveBack(a.size)
	case graphMemoryKind:
		a.node.unmapped(a.dev)
	}
}

// reclaimMemory releases what a closing context still owns.
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

// cuMemFree waits for the device, because work submitted before may still use the memory.
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

// wait waits for all work of the device's contexts.
func (d *device) wait() {
	waitAll(d.contexts...)
}

func cuMemGetInfo(c call) result {
	d := c.ctx.dev
	if p := at[uintptr](c, 0); p != nil {
		*p = uintptr(c.e.cfg.LimitMemory - d.used)
	}
	if p := at[uintptr](c, 1); p != nil {
		*p = uintptr(c.e.cfg.MemorySize)
	}
	return success
}

func cuMemGetAddressRange(c call) result {
	r, ok := c.e.mem.Find(c.Uint64(2))
	if !ok {
		return errNotFound
	}
	if p := at[cu.CUdeviceptr](c, 0); p != nil {
		*p = cu.CUdeviceptr(r.Addr)
	}
	if p := at[uintptr](c, 1); p != nil {
		*p = uintptr(r.Size)
	}
	return success
}
