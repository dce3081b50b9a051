// Package budget counts the memory of a device: the bytes allocated, and the bytes reserved by
// memory pools and graphs. It counts sizes only, never addresses. The caller's lock must guard all
// values.
package budget

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// unit is the granularity in bytes to which allocation sizes are rounded up.
const unit = 512

// poolUnit is the granularity in bytes at which a pool reserves memory.
const poolUnit = 32 << 20

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// Device counts the allocated bytes of a device.
type Device struct{ limit, used uint64 }

// New returns a Device with limit bytes of memory.
func New(limit uint64) Device { return Device{limit: limit} }

// Charge counts an allocation. It returns false if the device has too little memory left.
func (d *Device) Charge(size uint64) bool {
	size = roundUp(size, unit)
	if size > d.limit || d.used > d.limit-size {
		return false
	}
	d.used += size
	return true
}

// Refund undoes a Charge.
func (d *Device) Refund(size uint64) { d.used -= roundUp(size, unit) }

// Left returns the number of bytes that are not allocated.
func (d *Device) Left() uint64 { return d.limit - d.used }

// counts holds the current and peak numbers of used and reserved bytes.
type counts struct{ used, usedHigh, reserved, reservedHigh uint64 }

func (c *counts) update(used, reserved uint64) {
	c.used, c.reserved = used, reserved
	c.usedHigh, c.reservedHigh = max(c.usedHigh, used), max(c.reservedHigh, reserved)
}

// Pool counts the memory of a memory pool. All reserved memory is charged to the device, whether
// used or not. Whenever memory is released, the pool returns unused memory above its threshold to
// the device.
type Pool struct {
	counts
	dev       *Device
	most      uint64 // maximum size in bytes, or 0 for no limit
	threshold uint64
	reuse     [3]int32 // reuse attributes, which are stored but have no effect
}

// NewPool returns a pool on dev. most is its maximum size in bytes, or 0 for no limit.
func NewPool(dev *Device, most uint64) Pool {
	return Pool{dev: dev, most: most, reuse: [3]int32{1, 1, 1}}
}

// Reserve counts an allocation and reserves more memory if needed. It returns false if the pool's
// limit or the device's memory is exceeded.
func (p *Pool) Reserve(size uint64) bool {
	size = roundUp(size, unit)
	if p.most != 0 && p.used+size > p.most {
		return false
	}
	reserved := p.reserved
	if need := p.used + size; need > reserved {
		grow := roundUp(need-reserved, poolUnit)
		if !p.dev.Charge(grow) {
			grow = need - reserved
			if !p.dev.Charge(grow) {
				return false
			}
		}
		reserved += grow
	}
	p.update(p.used+size, reserved)
	return true
}

// Release undoes a Reserve.
func (p *Pool) Release(size uint64) {
	p.used -= roundUp(size, unit)
	p.Trim(p.threshold)
}

// Trim returns unused memory to the device until at most keep bytes are reserved, or until no
// unused memory is left.
func (p *Pool) Trim(keep uint64) {
	want := max(roundUp(p.used, unit), min(keep, p.reserved))
	if want < p.reserved {
		p.dev.used -= p.reserved - want
		p.reserved = want
	}
}

// Close returns all unused memory to the device. It does so now and after every later Release.
func (p *Pool) Close() {
	p.threshold = 0
	p.Trim(0)
}

// Set sets an attribute to *value.
func (p *Pool) Set(a cu.CUmemPool_attribute, value unsafe.Pointer) cu.CUresult {
	switch a {
	case cu.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
		cu.CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
		cu.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p.reuse[a-cu.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(*int32)(value)
	case cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p.threshold = *(*uint64)(value)
	case cu.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if *(*uint64)(value) != 0 {
			return cu.CUDA_ERROR_INVALID_VALUE
		}
		if a == cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH {
			p.usedHigh = p.used
		} else {
			p.reservedHigh = p.reserved
		}
	default:
		return cu.CUDA_ERROR_INVALID_VALUE
	}
	return cu.CUDA_SUCCESS
}

// Get stores the value of an attribute in *value.
func (p *Pool) Get(a cu.CUmemPool_attribute, value unsafe.Pointer) cu.CUresult {
	var v uint64
	switch a {
	case cu.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
		cu.CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
		cu.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(*int32)(value) = p.reuse[a-cu.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES]
		return cu.CUDA_SUCCESS
	case cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		v = p.threshold
	case cu.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		v = p.reserved
	case cu.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		v = p.reservedHigh
	case cu.CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		v = p.used
	case cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		v = p.usedHigh
	default:
		return cu.CUDA_ERROR_INVALID_VALUE
	}
	*(*uint64)(value) = v
	return cu.CUDA_SUCCESS
}

// Graphs counts the memory that graphs allocate on a device.
type Graphs struct{ counts }

// Use counts memory that an allocation node maps. If size is negative, it counts memory that is
// unmapped.
func (g *Graphs) Use(size int64) { g.update(g.used+uint64(size), g.reserved) }

// Reserve counts memory that is reserved for an allocation node. If size is negative, it ends a
// reservation.
func (g *Graphs) Reserve(size int64) { g.update(g.used, g.reserved+uint64(size)) }

// counter returns the counter for an attribute, or nil for an unknown attribute.
func (g *Graphs) counter(a cu.CUgraphMem_attribute) *uint64 {
	counters := []*uint64{&g.used, &g.usedHigh, &g.reserved, &g.reservedHigh}
	if int(a) >= len(counters) {
		return nil
	}
	return counters[a]
}

// Get returns the value of an attribute. It returns false for an unknown attribute.
func (g *Graphs) Get(a cu.CUgraphMem_attribute) (uint64, bool) {
	v := g.counter(a)
	if v == nil {
		return 0, false
	}
	return *v, true
}

// Reset sets a high-water mark to the current value. It returns false for other attributes.
func (g *Graphs) Reset(a cu.CUgraphMem_attribute) bool {
	if a != cu.CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && a != cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH {
		return false
	}
	*g.counter(a) = *g.counter(a - 1)
	return true
}
