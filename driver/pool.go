package driver

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/life"
)

// MemPool is a pool of device memory for stream-ordered allocations.
type MemPool struct {
	life *life.Lifetime
	ctx  *Context
	dev  Device
	raw  cu.CUmemoryPool
	own  bool // created by NewMemPool; false for the device's own pools
}

// PoolOption changes how NewMemPool creates a pool.
type PoolOption func(*cu.CUmemPoolProps)

// WithMaxSize limits the pool's size in bytes (CUDA 12.2).
func WithMaxSize(bytes uint64) PoolOption {
	return func(p *cu.CUmemPoolProps) { p.MaxSize = uintptr(bytes) }
}

// WithShareable lets other processes import the pool by handles of type t.
func WithShareable(t cu.CUmemAllocationHandleType) PoolOption {
	return func(p *cu.CUmemPoolProps) { p.HandleTypes = t }
}

// NewMemPool creates a pool on the context's device.
func (c *Context) NewMemPool(opts ...PoolOption) (*MemPool, error) {
	l, err := newLifetime(c, "memory pool")
	if err != nil {
		return nil, err
	}
	props := cu.CUmemPoolProps{AllocType: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: deviceLocation(c.Device())}
	absent.Apply(opts, &props)
	p := &MemPool{life: l, ctx: c, dev: c.Device(), own: true}
	if err := c.Driver().CuMemPoolCreate(&p.raw, &props); err != nil {
		return nil, l.Abandon(err)
	}
	raw := p.raw
	life.Own(p, l, uint64(raw), func(d *cu.Driver) error { return d.CuMemPoolDestroy(raw) })
	return p, nil
}

func deviceLocation(dev Device) cu.CUmemLocation {
	return cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: int32(dev.raw)}
}

// DefaultPool returns the device's default pool. Closing it does nothing.
func (c *Context) DefaultPool() (*MemPool, error) {
	return c.devicePool("default", (*Driver).CuDeviceGetDefaultMemPool)
}

// CurrentPool returns the pool that AllocAsync uses. SetPool changes it.
func (c *Context) CurrentPool() (*MemPool, error) {
	return c.devicePool("current", (*Driver).CuDeviceGetMemPool)
}

func (c *Context) devicePool(which string, get func(*Driver, *cu.CUmemoryPool, cu.CUdevice) error) (*MemPool, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &MemPool{life: &c.core.life, ctx: c, dev: c.Device()}
	if err := get(c.Driver(), &p.raw, p.dev.raw); err != nil {
		return nil, fmt.Errorf("%s memory pool of %v: %w", which, p.dev, err)
	}
	runtime.KeepAlive(c)
	return p, nil
}

// SetPool makes every AllocAsync of the process on p's device use p.
func (c *Context) SetPool(p *MemPool) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	if err := c.sameDriver(p.ctx, p); err != nil {
		return err
	}
	err := c.Driver().CuDeviceSetMemPool(p.dev.raw, p.raw)
	runtime.KeepAlive(p)
	if err != nil {
		return fmt.Errorf("current memory pool of %v: %w", p.dev, err)
	}
	return nil
}

func (p *MemPool) check() error {
	if p == nil || p.life == nil {
		return absentError(p == nil, "memory pool")
	}
	return p.life.Check()
}

// Lifetime returns the ownership record. A device's pool has its context's.
func (p *MemPool) Lifetime() *life.Lifetime {
	if p == nil {
		return nil
	}
	return p.life
}

// Raw returns the driver's handle.
func (p *MemPool) Raw() cu.CUmemoryPool {
	if p == nil {
		return 0
	}
	return p.raw
}

// Context returns the context the pool was created in or obtained from.
func (p *MemPool) Context() *Context {
	if p == nil {
		return nil
	}
	return p.ctx
}

// Device returns the device of the pool's memory.
func (p *MemPool) Device() Device {
	if p == nil {
		return Device{}
	}
	return p.dev
}

// Attribute returns one attribute of the pool.
func (p *MemPool) Attribute(a cu.CUmemPool_attribute) (uint64, error) {
	if err := p.check(); err != nil {
		return 0, err
	}
	var v uint64 // for int attributes, the driver sets only the lower half of v
	err := p.ctx.Driver().CuMemPoolGetAttribute(p.raw, a, unsafe.Pointer(&v))
	runtime.KeepAlive(p)
	if err != nil {
		return 0, fmt.Errorf("%v: attribute %v: %w", p, a, err)
	}
	return v, nil
}

// SetAttribute changes one attribute of the pool.
func (p *MemPool) SetAttribute(a cu.CUmemPool_attribute, v uint64) error {
	if err := p.check(); err != nil {
		return err
	}
	err := p.ctx.Driver().CuMemPoolSetAttribute(p.raw, a, unsafe.Pointer(&v))
	runtime.KeepAlive(p)
	if err != nil {
		return fmt.Errorf("%v: attribute %v = %d: %w", p, a, v, err)
	}
	return nil
}

// SetReleaseThreshold sets how much reserved memory, in bytes, the pool keeps. A wait returns
// unused memory to the device only if the pool has reserved more than this. With the default 0,
// every wait returns all unused memory, which is slow. Set a threshold if you allocate in a loop.
func (p *MemPool) SetReleaseThreshold(bytes uint64) error {
	return p.SetAttribute(cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes)
}

// PoolStats describes the memory of a pool, in bytes.
type PoolStats struct {
	Reserved, ReservedHigh uint64 // currently reserved, and the maximum since ResetStats
	Used, UsedHigh         uint64 // currently allocated, and the maximum since ResetStats
}

// Stats returns how much memory the pool has reserved and allocated.
func (p *MemPool) Stats() (PoolStats, error) {
	var s PoolStats
	for _, a := range []struct {
		attribute cu.CUmemPool_attribute
		to        *uint64
	}{
		{cu.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &s.Reserved},
		{cu.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &s.ReservedHigh},
		{cu.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &s.Used},
		{cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH, &s.UsedHigh},
	} {
		var err error
		if *a.to, err = p.Attribute(a.attribute); err != nil {
			return PoolStats{}, err
		}
	}
	return s, nil
}

// ResetStats sets ReservedHigh and UsedHigh to the current Reserved and Used.
func (p *MemPool) ResetStats() error {
	if err := p.SetAttribute(cu.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0); err != nil {
		return err
	}
	return p.SetAttribute(cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0)
}

// Trim returns unused memory to the device, but keeps at least keep bytes reserved. Memory freed in
// stream order counts as unused only once a synchronising call has seen the free complete. A wait
// for a stream that is already done is not enough, so call [Context.Synchronize] first.
func (p *MemPool) Trim(keep uintptr) error {
	if err := p.check(); err != nil {
		return err
	}
	err := p.ctx.Guarded().CuMemPoolTrimTo(p.raw, keep)
	runtime.KeepAlive(p)
	if err != nil {
		return fmt.Errorf("%v: trim to %d bytes: %w", p, keep, err)
	}
	return nil
}

// SetAccess sets whether another device can access the pool's memory. [Context.EnablePeerAccess]
// has no effect on this memory.
func (p *MemPool) SetAccess(dev Device, access cu.CUmemAccess_flags) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := dev.check(); err != nil {
		return err
	}
	if err := p.dev.sameDriver(dev); err != nil {
		return fmt.Errorf("%v: access: %w", p, err)
	}
	desc := cu.CUmemAccessDesc{Location: deviceLocation(dev), Flags: access}
	err := p.ctx.Driver().CuMemPoolSetAccess(p.raw, &desc, 1)
	runtime.KeepAlive(p)
	if err != nil {
		return fmt.Errorf("%v: access of %v: %w", p, dev, err)
	}
	return nil
}

// Access returns how dev can access the pool's memory.
func (p *MemPool) Access(dev Device) (cu.CUmemAccess_flags, error) {
	if err := p.check(); err != nil {
		return 0, err
	}
	if err := dev.check(); err != nil {
		return 0, err
	}
	if err := p.dev.sameDriver(dev); err != nil {
		return 0, fmt.Errorf("%v: access: %w", p, err)
	}
	var flags cu.CUmemAccess_flags
	location := deviceLocation(dev)
	err := p.ctx.Driver().CuMemPoolGetAccess(&flags, p.raw, &location)
	runtime.KeepAlive(p)
	if err != nil {
		return 0, fmt.Errorf("%v: access of %v: %w", p, dev, err)
	}
	return flags, nil
}

// Close destroys the pool. It does nothing for the device's own pools. Memory from the pool stays
// valid until it is freed.
func (p *MemPool) Close() error {
	if p == nil || !p.own {
		return nil
	}
	err := p.life.Close()
	runtime.KeepAlive(p)
	return err
}

// String describes the pool.
func (p *MemPool) String() string {
	if p == nil {
		return "nil memory pool"
	}
	return fmt.Sprintf("memory pool %#x of %v", uintptr(p.raw), p.dev)
}
