package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// pool is a memory pool. All memory that it has reserved is charged to the device, whether used or
// not. At synchronisation points, the pool releases unused memory down to the threshold.
type pool struct {
	handle    uintptr
	dev       *device
	fixed     bool // the device's default pool
	props     cu.CUmemPoolProps
	maxSize   uint64
	threshold uint64
	reuse     [3]int32
	reach     vm.Reach // the devices that may use its memory

	used, usedHigh         uint64
	reserved, reservedHigh uint64
}

// devicePools are the pools of a device.
type devicePools struct {
	standard, current *pool
	all               []*pool
}

// poolUnit is the unit in which a pool reserves memory.
const poolUnit = 32 << 20

func (d *device) newPool(fixed bool) *pool {
	p := &pool{dev: d, fixed: fixed, reuse: [3]int32{1, 1, 1}}
	p.reach.Set(d.ordinal, true, true)
	p.props.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
	p.props.Location = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: int32(d.ordinal)}
	p.handle = d.e.register(p)
	d.pools.all = append(d.pools.all, p)
	return p
}

// standardPool returns the device's default pool, and makes it on the first call.
func (d *device) standardPool() *pool {
	if d.pools.standard == nil {
		d.pools.standard = d.newPool(true)
		d.pools.current = d.pools.standard
	}
	return d.pools.standard
}

// currentPool returns the pool that cuMemAllocAsync uses.
func (d *device) currentPool() *pool {
	d.standardPool()
	return d.pools.current
}

// trimPools releases all memory that no allocation uses.
func (d *device) trimPools() {
	for _, p := range d.pools.all {
		p.trim(0)
	}
}

// trim releases memory until at most keep bytes are reserved.
func (p *pool) trim(keep uint64) {
	want := max(roundUp(p.used, granularity), min(keep, p.reserved))
	if want < p.reserved {
		p.dev.used -= p.reserved - want
		p.reserved = want
	}
}

// take counts an allocation, reserving more memory where needed.
func (p *pool) take(size uint64) bool {
	size = roundUp(size, granularity)
	if p.maxSize != 0 && p.used+size > p.maxSize {
		return false
	}
	if need := p.used + size; need > p.reserved {
		grow := roundUp(need-p.reserved, poolUnit)
		if !p.dev.charge(grow) {
			grow = need - p.reserved
			if !p.dev.charge(grow) {
				return false
			}
		}
		p.reserved += grow
	}
	p.used += size
	p.usedHigh, p.reservedHigh = max(p.usedHigh, p.used), max(p.reservedHigh, p.reserved)
	return true
}

func (p *pool) giveBack(size uint64) {
	p.used -= roundUp(size, granularity)
	p.trim(p.threshold)
}

// allocate makes memory of the pool.
func (p *pool) allocate(ctx *cudaContext, size uint64, by string) (uint64, result) {
	e := p.dev.e
	if !p.take(size) {
		p.dev.wait() // queued frees may make room
		p.dev.trimPools()
		if !p.take(size) {
			return 0, errOutOfMemory
		}
	}
	a := &allocation{size: size, kind: pooledMemory, ctx: ctx, dev: p.dev, pool: p, id: e.id(), by: by}
	addr, err := e.mem.Alloc(size, vm.AllocOptions{Device: p.dev.ordinal, Kind: vm.RegionDevice, Tag: by, User: a, Reach: &p.reach})
	if err != nil {
		p.giveBack(size)
		return 0, errOutOfMemory
	}
	a.addr = addr
	return addr, success
}

var poolFunctions = functions{
	"cuMemAllocAsync":           {cuMemAllocAsync, afterInit},
	"cuMemAllocFromPoolAsync":   {cuMemAllocFromPoolAsync, afterInit},
	"cuMemFreeAsync":            {cuMemFreeAsync, afterInit},
	"cuMemPoolCreate":           {cuMemPoolCreate, afterInit | uncaptured},
	"cuMemPoolDestroy":          {cuMemPoolDestroy, afterInit | uncaptured},
	"cuMemPoolTrimTo":           {cuMemPoolTrimTo, afterInit | uncaptured},
	"cuMemPoolSetAttribute":     {cuMemPoolSetAttribute, afterInit | uncaptured},
	"cuMemPoolGetAttribute":     {cuMemPoolGetAttribute, afterInit | uncaptured},
	"cuMemPoolSetAccess":        {cuMemPoolSetAccess, afterInit | uncaptured},
	"cuMemPoolGetAccess":        {cuMemPoolGetAccess, afterInit},
	"cuDeviceGetDefaultMemPool": {cuDeviceGetDefaultMemPool, afterInit},
	"cuDeviceGetMemPool":        {cuDeviceGetMemPool, afterInit},
	"cuDeviceSetMemPool":        {cuDeviceSetMemPool, afterInit | uncaptured},
	"cuMemGetDefaultMemPool":    {cuMemGetDefaultMemPool, afterInit},
	"cuMemGetMemPool":           {cuMemGetMemPool, afterInit},
	"cuMemSetMemPool":           {cuMemSetMemPool, afterInit | uncaptured},
}

func cuMemAllocAsync(c call) result {
	s, r := streamAt(c, 2)
	if r != success {
		return r
	}
	return allocAsync(c, s, s.ctx.dev.currentPool(), "cuMemAllocAsync")
}

func cuMemAllocFromPoolAsync(c call) result {
	p := handleAt[pool](c, 2)
	if p == nil {
		return errInvalidValue
	}
	s, r := streamAt(c, 3)
	if r != success {
		return r
	}
	return allocAsync(c, s, p, "cuMemAllocFromPoolAsync")
}

// allocAsync makes memory for a stream. The address is known immediately. In a capture, the
// allocation is a node.
func allocAsync(c call, s *stream, p *pool, by string) result {
	size := c.Uint64(1)
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	if s.cap != nil && size == 0 {
		if r := s.capturable(); r != success {
			return r
		}
		return put(c, 0, cu.CUdeviceptr(0))
	}
	if s.cap != nil {
		n, r := c.newAllocNode(s.ctx, &p.props, size, p.descs(c.e))
		if r != success {
			return r
		}
		if r := s.record(n); r != success {
			n.dropped(c.e)
			return r
		}
		n.graph = s.cap.graph
		return put(c, 0, cu.CUdeviceptr(n.addr))
	}
	if r := c.e.prohibited(c.th); r != success {
		return r
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	if size == 0 {
		return put(c, 0, cu.CUdeviceptr(0))
	}
	addr, r := p.allocate(s.ctx, size, by)
	if r != success {
		return r
	}
	return put(c, 0, cu.CUdeviceptr(addr))
}

// freeOp frees memory when the stream gets there.
type freeOp struct {
	a  *allocation
	by string
}

func (*freeOp) runsAfterFault() {}

func (op *freeOp) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.unlock()
	x.e.release(op.a, op.by)
	return success
}

func cuMemFreeAsync(c call) result {
	addr := c.Uint64(0)
	s, r := streamAt(c, 1)
	switch {
	case r != success:
		return r
	case addr == 0:
		return success
	case s.cap != nil:
		return captureFree(c, s, cu.CUdeviceptr(addr))
	}
	if r := c.e.prohibited(c.th); r != success {
		return r
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	if n := c.e.graphAllocs[addr]; n != nil && n.live {
		n.live, n.freedOutside = false, true
		s.enqueue((*unmapOp)(n))
		return success
	}
	a := c.e.allocationAt(addr)
	if a == nil || a.addr != addr || a.releasing || (a.kind != pooledMemory && a.kind != deviceMemory) {
		return errInvalidValue
	}
	a.releasing = true
	s.enqueue(&freeOp{a, "cuMemFreeAsync"})
	return success
}
