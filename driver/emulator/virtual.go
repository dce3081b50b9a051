package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Virtual memory management allocates physical memory and addresses separately. A mapping joins the
// two.

// physical is memory without an address. The program refers to it by a
// CUmemGenericAllocationHandle.
type physical struct {
	handle uintptr
	e      *Emulator
	dev    *device
	prop   cu.CUmemAllocationProp
	buf    []byte
	refs   int // one for the program, and one for each mapping
}

type mapping struct{ phys *physical }

// virtualUnit is the granularity of sizes and addresses in bytes.
const virtualUnit = 2 << 20

var virtualFunctions = functions{
	"cuMemGetAllocationGranularity":          {cuMemGetAllocationGranularity, afterInit},
	"cuMemAddressReserve":                    {cuMemAddressReserve, afterInit},
	"cuMemAddressFree":                       {cuMemAddressFree, afterInit},
	"cuMemCreate":                            {cuMemCreate, afterInit},
	"cuMemRelease":                           {cuMemRelease, afterInit},
	"cuMemMap":                               {cuMemMap, afterInit},
	"cuMemUnmap":                             {cuMemUnmap, afterInit},
	"cuMemSetAccess":                         {cuMemSetAccess, afterInit},
	"cuMemGetAccess":                         {cuMemGetAccess, afterInit},
	"cuMemRetainAllocationHandle":            {cuMemRetainAllocationHandle, afterInit},
	"cuMemGetAllocationPropertiesFromHandle": {cuMemGetAllocationPropertiesFromHandle, afterInit},
}

// propDevice returns the device that the properties specify.
func (e *Emulator) propDevice(p *cu.CUmemAllocationProp) (*device, result) {
	switch {
	case p == nil, p.Type != cu.CU_MEM_ALLOCATION_TYPE_PINNED, p.Location.Type == cu.CU_MEM_LOCATION_TYPE_INVALID:
		return nil, errInvalidValue
	case p.RequestedHandleTypes != cu.CU_MEM_HANDLE_TYPE_NONE, p.Location.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE:
		return nil, errNotSupported
	case p.Location.Id < 0 || int(p.Location.Id) >= len(e.devices):
		return nil, errInvalidDevice
	}
	return e.devices[p.Location.Id], success
}

func cuMemGetAllocationGranularity(c call) result {
	if c.Ptr(1) == nil || cu.CUmemAllocationGranularity_flags(c.Uint32(2)) > cu.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED {
		return errInvalidValue
	}
	return put(c, 0, uintptr(virtualUnit))
}

func cuMemAddressReserve(c call) result {
	size, align := c.Uint64(1), c.Uint64(2)
	if c.Ptr(0) == nil || size == 0 || size%virtualUnit != 0 || align&(align-1) != 0 || c.Uint64(4) != 0 {
		return errInvalidValue
	}
	dev := 0
	if c.ctx != nil {
		dev = c.ctx.dev.ordinal
	}
	addr, err := c.e.mem.Reserve(dev, size, max(align, virtualUnit), c.Uint64(3))
	if err != nil {
		return errOutOfMemory
	}
	c.e.reserved[addr] = size
	return put(c, 0, cu.CUdeviceptr(addr))
}

func cuMemAddressFree(c call) result {
	addr := c.Uint64(0)
	if size := c.e.reserved[addr]; size == 0 || size != c.Uint64(1) || c.e.isMapped(addr, size) {
		return errInvalidValue
	}
	if err := c.e.mem.Unreserve(addr); err != nil {
		return errInvalidValue
	}
	delete(c.e.reserved, addr)
	return success
}

func cuMemCreate(c call) result {
	size, prop := c.Uint64(1), at[cu.CUmemAllocationProp](c, 2)
	d, r := c.e.propDevice(prop)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || size == 0 || size%virtualUnit != 0 || c.Uint64(3) != 0:
		return errInvalidValue
	case !d.Charge(size):
		return errOutOfMemory
	}
	buf, err := vm.NewBuffer(size)
	if err != nil {
		d.Refund(size)
		return errOutOfMemory
	}
	p := &physical{e: c.e, dev: d, prop: *prop, buf: buf, refs: 1}
	p.handle = c.e.register(p)
	return put(c, 0, uint64(p.handle))
}

// release drops a reference. When the last reference is dropped, the memory is freed.
func (p *physical) release() {
	if p.refs--; p.refs == 0 {
		p.dev.Refund(uint64(len(p.buf)))
		p.buf = nil
		p.e.forget(p.handle)
	}
}

// physicalAt returns the physical memory whose 64-bit handle is argument i.
func physicalAt(c call, i int) *physical { return find[physical](c.e, uintptr(c.Uint64(i))) }

func cuMemRelease(c call) result {
	p := physicalAt(c, 0)
	if p == nil {
		return errInvalidValue
	}
	p.release()
	return success
}

// cuMemMap maps only whole allocations, as drivers do.
func cuMemMap(c call) result {
	addr, size, p := c.Uint64(0), c.Uint64(1), physicalAt(c, 3)
	switch {
	case p == nil, c.Uint64(4) != 0, !c.e.isReserved(addr, size):
		return errInvalidValue
	case c.Uint64(2) != 0, size != uint64(len(p.buf)):
		return errNotSupported
	}
	err := c.e.mem.Map(addr, p.buf, vm.AllocOptions{
		Device: p.dev.ordinal, Kind: vm.RegionMapped, Tag: "cuMemMap", User: &mapping{phys: p}, Reach: new(vm.Reach),
	})
	if err != nil {
		return errInvalidValue
	}
	p.refs++
	return success
}

func (e *Emulator) isReserved(addr, size uint64) bool {
	for base, n := range e.reserved {
		if addr >= base && addr-base <= n && size <= n-(addr-base) {
			return true
		}
	}
	return false
}

// mappings calls f for each mapping in a range, starting at addr. It stops at the first gap. It
// reports whether the mappings fill the range exactly.
func (e *Emulator) mappings(addr, size uint64, f func(r *vm.Region, m *mapping)) bool {
	end := addr + size
	for addr < end {
		r, ok := e.mem.Find(addr)
		if !ok || r.Addr != addr {
			return false
		}
		m, ok := r.User.(*mapping)
		if !ok || r.Size > end-addr {
			return false
		}
		f(r, m)
		addr += r.Size
	}
	return size > 0
}

func (e *Emulator) isMapped(addr, size uint64) bool {
	for _, r := range e.mem.All() {
		if _, ok := r.User.(*mapping); ok && r.Addr >= addr && r.Addr < addr+size {
			return true
		}
	}
	return false
}

func cuMemUnmap(c call) result {
	addr, size := c.Uint64(0), c.Uint64(1)
	if c.e.isReserved(addr, size) && size != 0 && !c.e.isMapped(addr, size) {
		return success
	}
	if !c.e.mappings(addr, size, func(*vm.Region, *mapping) {}) {
		return errInvalidValue
	}
	for _, d := range c.e.devices {
		d.wait()
	}
	c.e.mappings(addr, size, func(r *vm.Region, m *mapping) {
		if _, err := c.e.mem.Free(r.Addr, "cuMemUnmap"); err == nil {
			c.e.dropSignals(r.Addr, r.Size)
			m.phys.release()
		}
	})
	return success
}

// cuMemSetAccess grants devices access to mapped memory. Until it is called, no device has access.
func cuMemSetAccess(c call) result {
	descs := list[cu.CUmemAccessDesc](c, 2, int(c.Word(3)))
	if descs == nil || !c.e.mappings(c.Uint64(0), c.Uint64(1), func(*vm.Region, *mapping) {}) {
		return errInvalidValue
	}
	var devices []cu.CUmemAccessDesc // the emulator does not restrict the host's access
	for _, d := range descs {
		if d.Location.Type == cu.CU_MEM_LOCATION_TYPE_DEVICE {
			devices = append(devices, d)
		}
	}
	if r := c.e.checkAccessors(devices); r != success {
		return r
	}
	c.e.mappings(c.Uint64(0), c.Uint64(1), func(r *vm.Region, _ *mapping) { setAccess(r.Reach, devices) })
	return success
}

func cuMemGetAccess(c call) result {
	r, ok := c.e.mem.Find(c.Uint64(2))
	if !ok {
		return errInvalidValue
	}
	at := at[cu.CUmemLocation](c, 1)
	if r.Reach == nil || at == nil || at.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE {
		return put(c, 0, uint64(cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
	}
	return put(c, 0, uint64(accessFlags(r.Reach.May(int(at.Id)))))
}

func cuMemRetainAllocationHandle(c call) result {
	r, ok := c.e.mem.Find(c.Uint64(1))
	if !ok {
		return errInvalidValue
	}
	m, ok := r.User.(*mapping)
	if !ok {
		return errInvalidValue
	}
	m.phys.refs++
	return put(c, 0, uint64(m.phys.handle))
}

func cuMemGetAllocationPropertiesFromHandle(c call) result {
	p := physicalAt(c, 1)
	if p == nil {
		return errInvalidValue
	}
	return put(c, 0, p.prop)
}
