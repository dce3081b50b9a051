package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/budget"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

type pool struct {
	budget.Pool
	handle uintptr
	dev    *device
	fixed  bool // set for the device's default pool, which cannot be destroyed
	props  cu.CUmemPoolProps
	reach  vm.Reach // devices' access rights
}

type devicePools struct {
	standard, current *pool
	all               []*pool
}

func (d *device) newPool(fixed bool, most uint64) *pool {
	p := &pool{dev: d, fixed: fixed, Pool: budget.NewPool(&d.Device, most)}
	p.reach.Set(d.ordinal, true, true)
	p.props.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
	p.props.Location = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: int32(d.ordinal)}
	p.handle = d.e.register(p)
	d.pools.all = append(d.pools.all, p)
	return p
}

// standardPool returns the device's default pool. The first call creates it.
func (d *device) standardPool() *pool {
	if d.pools.standard == nil {
		d.pools.standard = d.newPool(true, 0)
		d.pools.current = d.pools.standard
	}
	return d.pools.standard
}

func (d *device) currentPool() *pool {
	d.standardPool()
	return d.pools.current
}

func (d *device) trimPools() {
	for _, p := range d.pools.all {
		p.Trim(0)
	}
}

func (p *pool) allocate(ctx *cudaContext, size uint64, by string) (uint64, result) {
	e := p.dev.e
	if !p.Reserve(size) {
		p.dev.wait() // queued frees may release enough memory
		p.dev.trimPools()
		if !p.Reserve(size) {
			return 0, errOutOfMemory
		}
	}
	a := &allocation{size: size, kind: pooledMemory, ctx: ctx, dev: p.dev, pool: p, id: e.id(), by: by}
	addr, err := e.mem.Alloc(size, vm.AllocOptions{Device: p.dev.ordinal, Kind: vm.RegionDevice, Tag: by, User: a, Reach: &p.reach})
	if err != nil {
		p.Release(size)
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
	"cuDeviceGetDefaultMemPool": {query(existingDevice, 1, 0, func(d *device) uintptr { return d.standardPool().handle }), afterInit},
	"cuDeviceGetMemPool":        {query(existingDevice, 1, 0, func(d *device) uintptr { return d.currentPool().handle }), afterInit},
	"cuDeviceSetMemPool":        {cuDeviceSetMemPool, afterInit | uncaptured},
	"cuMemGetDefaultMemPool":    {query(poolOwner, 1, 0, func(d *device) uintptr { return d.standardPool().handle }), afterInit},
	"cuMemGetMemPool":           {query(poolOwner, 1, 0, func(d *device) uintptr { return d.currentPool().handle }), afterInit},
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

// allocAsync allocates memory in stream order and stores its address immediately. In a capture, it
// records an allocation node.
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

func cuMemPoolCreate(c call) result {
	props := at[cu.CUmemPoolProps](c, 1)
	if c.Ptr(0) == nil || props == nil {
		return errInvalidValue
	}
	d, r := c.e.poolDevice(props)
	if r != success {
		return r
	}
	p := d.newPool(false, uint64(props.MaxSize))
	return put(c, 0, p.handle)
}

// poolDevice returns the device that the properties specify. If the emulator does not support the
// properties, it fails.
func (e *Emulator) poolDevice(props *cu.CUmemPoolProps) (*device, result) {
	loc := props.Location
	switch {
	case props.AllocType != cu.CU_MEM_ALLOCATION_TYPE_PINNED:
		return nil, errInvalidValue
	case props.HandleTypes != cu.CU_MEM_HANDLE_TYPE_NONE:
		return nil, errNotSupported
	case loc.Type == cu.CU_MEM_LOCATION_TYPE_HOST || loc.Type == cu.CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return nil, errNotSupported
	case loc.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE:
		return nil, errInvalidValue
	case loc.Id < 0 || int(loc.Id) >= len(e.devices):
		return nil, errInvalidDevice
	}
	return e.devices[loc.Id], success
}

// cuMemPoolDestroy destroys the pool. Memory allocated from the pool remains valid until it is
// freed.
func cuMemPoolDestroy(c call) result {
	p := handleAt[pool](c, 0)
	if p == nil || p.fixed {
		return errInvalidValue
	}
	if p.dev.pools.current == p {
		p.dev.pools.current = p.dev.pools.standard
	}
	p.Close()
	c.e.forget(p.handle)
	return success
}

func cuMemPoolTrimTo(c call) result {
	p := handleAt[pool](c, 0)
	if p == nil {
		return errInvalidValue
	}
	p.Trim(c.Uint64(1))
	return success
}

func cuMemPoolSetAttribute(c call) result {
	p := handleAt[pool](c, 0)
	if p == nil || c.Ptr(2) == nil {
		return errInvalidValue
	}
	return p.Set(cu.CUmemPool_attribute(c.Uint32(1)), c.Ptr(2))
}

func cuMemPoolGetAttribute(c call) result {
	p := handleAt[pool](c, 0)
	if p == nil || c.Ptr(2) == nil {
		return errInvalidValue
	}
	return p.Get(cu.CUmemPool_attribute(c.Uint32(1)), c.Ptr(2))
}

// cuMemPoolSetAccess changes nothing if any of the descriptors is invalid.
func cuMemPoolSetAccess(c call) result {
	p := handleAt[pool](c, 0)
	descs := list[cu.CUmemAccessDesc](c, 1, int(c.Word(2)))
	if p == nil || descs == nil {
		return errInvalidValue
	}
	if r := c.e.checkAccess(p.dev, descs); r != success {
		return r
	}
	for _, d := range descs {
		if d.Flags == cu.CU_MEM_ACCESS_FLAGS_PROT_READ {
			return errNotSupported // as driver 580 does
		}
	}
	setAccess(&p.reach, descs)
	return success
}

func cuMemPoolGetAccess(c call) result {
	p, loc := handleAt[pool](c, 1), at[cu.CUmemLocation](c, 2)
	if p == nil || loc == nil {
		return errInvalidValue
	}
	return put(c, 0, accessFlags(p.reach.May(int(loc.Id))))
}

func cuDeviceSetMemPool(c call) result {
	d, p := deviceAt(c, 0), handleAt[pool](c, 1)
	switch {
	case d == nil:
		return errInvalidDevice
	case p == nil || p.dev != d:
		return errInvalidValue
	}
	d.standardPool()
	d.pools.current = p
	return success
}

// poolOwner reads a location and an allocation type from arguments i and i+1. It returns the device
// whose pools serve such allocations.
func poolOwner(c call, i int) (*device, result) {
	loc := at[cu.CUmemLocation](c, i)
	if loc == nil {
		return nil, errInvalidValue
	}
	props := cu.CUmemPoolProps{AllocType: cu.CUmemAllocationType(c.Uint32(i + 1)), Location: *loc}
	return c.e.poolDevice(&props)
}

func cuMemSetMemPool(c call) result {
	d, r := poolOwner(c, 0)
	if r != success {
		return r
	}
	p := handleAt[pool](c, 2)
	if p == nil || p.dev != d {
		return errInvalidValue
	}
	d.standardPool()
	d.pools.current = p
	return success
}

func rights(flags cu.CUmemAccess_flags) (read, write bool) {
	write = flags == cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	return write || flags == cu.CU_MEM_ACCESS_FLAGS_PROT_READ, write
}

func accessFlags(read, write bool) cu.CUmemAccess_flags {
	switch {
	case write:
		return cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	case read:
		return cu.CU_MEM_ACCESS_FLAGS_PROT_READ
	}
	return cu.CU_MEM_ACCESS_FLAGS_PROT_NONE
}

// checkAccess returns an error if descs are not valid access rights for memory on d. Device d
// itself must keep full access.
func (e *Emulator) checkAccess(d *device, descs []cu.CUmemAccessDesc) result {
	for i, a := range descs {
		if r := e.checkAccessors(descs[i : i+1]); r != success {
			return r
		}
		if int(a.Location.Id) == d.ordinal && a.Flags != cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE {
			return errInvalidValue
		}
	}
	return success
}

// checkAccessors returns an error if a descriptor does not name an existing device.
func (e *Emulator) checkAccessors(descs []cu.CUmemAccessDesc) result {
	for _, a := range descs {
		switch {
		case a.Location.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE:
			return errInvalidValue
		case a.Location.Id < 0 || int(a.Location.Id) >= len(e.devices):
			return errInvalidDevice
		}
	}
	return success
}

func setAccess(r *vm.Reach, descs []cu.CUmemAccessDesc) {
	for _, a := range descs {
		read, write := rights(a.Flags)
		r.Set(int(a.Location.Id), read, write)
	}
}

func accessDescs(p *cu.CUmemAccessDesc, n uintptr) []cu.CUmemAccessDesc {
	if p == nil {
		return nil
	}
	return unsafe.Slice(p, n)
}

// descs returns the access rights of other devices to the pool's memory.
func (p *pool) descs(e *Emulator) (list []cu.CUmemAccessDesc) {
	for i := range e.devices {
		flags := accessFlags(p.reach.May(i))
		if i == p.dev.ordinal || flags == cu.CU_MEM_ACCESS_FLAGS_PROT_NONE {
			continue
		}
		loc := cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: int32(i)}
		list = append(list, cu.CUmemAccessDesc{Location: loc, Flags: flags})
	}
	return list
}
