package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/kernelfault"
	"github.com/purecuda/cuda/internal/life"
)

// Context is a CUDA context: the address space and the objects of one device. Its methods create
// almost all other objects. No goroutine has to make a context current: each call does so itself.
type Context struct {
	core      *contextCore
	legacy    Stream
	perThread Stream
	embedded  embedded
}

// contextCore is the part of a context that the context's objects keep alive. It does not refer to
// the Context, because an unused Context must be able to become unreachable.
type contextCore struct {
	life    life.Lifetime
	dev     Device
	raw     CUcontext
	bound   *Driver
	guarded *Driver
	// loose is used for calls whose context is determined by a stream or event. It is guarded. If
	// the driver's version is at least selfBound, loose does not bind the context.
	loose   *Driver
	release func(d *cu.Driver) error // releases or destroys raw
	marks   markPool
	sched   atomic.Uint32 // schedUnknown, schedSpins or schedSleeps
	faults  faults
	seen    uint32 // number of kernel faults that Synchronize need not report; atomic

	// legacyUsed is set if kernels may run in the legacy stream or in a stream that the legacy
	// stream waits for.
	legacyUsed atomic.Bool

	home life.Home

	mu   sync.Mutex
	code []embeddedCode
}

// embeddedCode is a module that the context loaded itself and unloads when it is closed.
type embeddedCode struct {
	life *life.Lifetime
	text *kernelfault.Text
}

// PrimaryContext retains the device's primary context, which the CUDA runtime and most libraries
// use. Prefer it to NewContext. Each call returns a new Context for the same driver context.
// Closing the last Context releases it.
func (dev Device) PrimaryContext() (*Context, error) {
	if err := dev.check(); err != nil {
		return nil, err
	}
	var raw CUcontext
	if err := dev.driver.CuDevicePrimaryCtxRetain(&raw, dev.raw); err != nil {
		return nil, fmt.Errorf("cannot retain the primary context of %v: %w", dev, err)
	}
	device := dev.raw
	return newContext(dev, raw, func(d *cu.Driver) error {
		return d.CuDevicePrimaryCtxRelease(device)
	}), nil
}

// NewContext creates a context in addition to the primary one, for isolation or for other flags.
// Creating it takes hundreds of milliseconds and device memory. Work in different contexts never
// runs concurrently.
func (dev Device) NewContext(flags cu.CUctx_flags) (*Context, error) {
	if err := dev.check(); err != nil {
		return nil, err
	}
	raw, err := dev.createContext(flags)
	if err != nil {
		return nil, fmt.Errorf("cannot create a context on %v: %w", dev, err)
	}
	return newContext(dev, raw, func(d *cu.Driver) error { return d.CuCtxDestroy(raw) }), nil
}

// createContext creates a context and pops it from the thread's stack. The driver pushes each new
// context onto that stack, where an unrelated goroutine would later find it current.
func (dev Device) createContext(flags cu.CUctx_flags) (CUcontext, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := dev.driver
	var raw, popped CUcontext
	var err error
	if d.Has(cu.FnCuCtxCreate) {
		err = d.CuCtxCreate(&raw, nil, uint32(flags), dev.raw)
	} else { // before CUDA 12.5
		err = d.CuCtxCreate_v3020(&raw, uint32(flags), dev.raw)
	}
	if err != nil {
		return 0, err
	}
	if err := d.CuCtxPopCurrent(&popped); err != nil {
		return 0, errors.Join(err, d.CuCtxDestroy(raw))
	}
	return raw, nil
}

// BorrowContext returns a Context for a handle that other code owns. The handle must stay valid
// until the Context and all objects created from it are closed. Closing the Context does not
// destroy the driver's context.
func (dev Device) BorrowContext(raw CUcontext) (*Context, error) {
	if err := dev.check(); err != nil {
		return nil, err
	}
	if raw == 0 {
		return nil, invalidf("no context to borrow on %v: the handle is 0", dev)
	}
	var of cu.CUdevice
	if err := dev.driver.Bound(raw).Guarded().CuCtxGetDevice(&of); err != nil {
		return nil, fmt.Errorf("cannot borrow context %#x on %v: %w", uintptr(raw), dev, err)
	}
	if of != dev.raw {
		return nil, invalidf("context %#x is of device %d, not of %v", uintptr(raw), of, dev)
	}
	return newContext(dev, raw, func(*cu.Driver) error { return nil }), nil
}

func newContext(dev Device, raw CUcontext, release func(*cu.Driver) error) *Context {
	core := &contextCore{dev: dev, raw: raw, release: release}
	core.bound = dev.driver.Bound(raw)
	core.guarded = core.bound.Guarded()
	core.loose = core.guarded
	if dev.driver.Version() >= selfBound {
		core.loose = dev.driver.Guarded()
	}
	core.home.Guarded, core.home.Owner = &core.guarded.Driver, core
	core.home.Background = &dev.driver.core.background
	core.home.Faults = dev.driver.core.kernelFaults.Open(raw, &core.guarded.Driver, newKernelFault, core.home.Note)
	core.seen = core.home.Faults.Taken()
	core.life.BeginRoot(&core.home, "context")
	c := &Context{core: core}
	c.legacy = c.borrowed(cu.CU_STREAM_LEGACY)
	c.perThread = c.borrowed(cu.CU_STREAM_PER_THREAD)
	life.Own(c, &core.life, uint64(raw), core.destroy)
	return c
}

// destroy runs when the context's last object is destroyed. The call that releases the context must
// not bind that context.
func (core *contextCore) destroy(d *cu.Driver) error {
	if err := core.marks.destroy(d); err != nil {
		core.home.Note(err) // the error is only noted, because the library, not the caller, created these events
	}
	printed := core.home.Faults.Print()
	unloaded := core.unload(d)
	if err := core.dev.driver.core.kernelFaults.Close(core.home.Faults, d); err != nil {
		core.home.Note(err) // the error is only noted, because the library, not the caller, allocated this memory
	}
	err := errors.Join(unloaded, core.release(&core.dev.driver.Guarded().Driver))
	if printed { // the driver has already printed the rest of its buffer
		if err := kernelfault.Flush(); err != nil {
			core.home.Note(err)
		}
	}
	return err
}

func (c *Context) check() error {
	if c == nil || c.core == nil {
		return absentError(c == nil, "context")
	}
	return c.core.life.Check()
}

// Raw returns the driver's handle.
func (c *Context) Raw() CUcontext {
	if c == nil || c.core == nil {
		return 0
	}
	return c.core.raw
}

// Device returns the device of the context.
func (c *Context) Device() Device {
	if c == nil || c.core == nil {
		return Device{}
	}
	return c.core.dev
}

// Driver returns a view of the driver whose calls run with this context current. The view also
// works after Close, as long as the context has open objects. For a nil context, Driver returns a
// view of a closed driver.
func (c *Context) Driver() *Driver {
	if c == nil || c.core == nil {
		return noDriver()
	}
	return c.core.bound
}

// Guarded is like Driver, but the calls of the returned view are also guarded: see
// [Driver.Guarded]. Use it for background work.
func (c *Context) Guarded() *Driver {
	if c == nil || c.core == nil {
		return noDriver()
	}
	return c.core.guarded
}

// Lifetime returns the context's ownership record.
func (c *Context) Lifetime() *life.Lifetime {
	if c == nil || c.core == nil {
		return nil
	}
	return &c.core.life
}

// String names the context and its device.
func (c *Context) String() string {
	if c == nil || c.core == nil {
		return "nil context"
	}
	return fmt.Sprintf("context %#x of %v", uintptr(c.core.raw), c.core.dev)
}

// sameAs reports whether c and o have the same driver context, as all retained primary contexts of
// a device do.
func (c *Context) sameAs(o *Context) bool {
	return c == o || c.Raw() != 0 && c.Raw() == o.Raw() && c.core.dev.driver.core == o.core.dev.driver.core
}

// sameDriver rejects objects of another driver, because their handles could crash this driver.
func (c *Context) sameDriver(o *Context, what fmt.Stringer) error {
	if c == o || c.core.dev.driver.core == o.core.dev.driver.core {
		return nil
	}
	return invalidf("%v belongs to another driver (%s)", what, o.core.dev.driver.Library().Name())
}

// Close makes the context reject new objects. Existing objects keep working. Closing the last of
// them releases the driver's context.
func (c *Context) Close() error {
	if c == nil || c.core == nil {
		return nil
	}
	err := c.core.life.Close()
	runtime.KeepAlive(c)
	return err
}

// MemInfo returns the free and total device memory, in bytes.
func (c *Context) MemInfo() (free, total uint64, err error) {
	if err := c.check(); err != nil {
		return 0, 0, err
	}
	var f, t uintptr
	err = c.core.bound.CuMemGetInfo(&f, &t)
	runtime.KeepAlive(c)
	return uint64(f), uint64(t), err
}

// Limit returns one of the context's limits. Sizes are in bytes. If the device does not support the
// limit, the error is CUDA_ERROR_UNSUPPORTED_LIMIT.
func (c *Context) Limit(l cu.CUlimit) (uint64, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	var v uintptr
	err := c.core.bound.CuCtxGetLimit(&v, l)
	runtime.KeepAlive(c)
	return uint64(v), err
}

// SetLimit changes a limit, such as the stack size of each thread.
func (c *Context) SetLimit(l cu.CUlimit, v uint64) error {
	if err := c.check(); err != nil {
		return err
	}
	err := c.core.bound.CuCtxSetLimit(l, uintptr(v))
	runtime.KeepAlive(c)
	return err
}

// StreamPriorityRange returns the lowest and the highest stream priority. A lower number is a
// higher priority. Without priorities, both are 0.
func (c *Context) StreamPriorityRange() (least, greatest int, err error) {
	if err := c.check(); err != nil {
		return 0, 0, err
	}
	var l, g int32
	err = c.core.bound.CuCtxGetStreamPriorityRange(&l, &g)
	runtime.KeepAlive(c)
	return int(l), int(g), err
}

// Synchronize waits until all work in the context is done. If ctx is cancelled, a goroutine stays
// blocked until then. See [Stream.Wait].
func (c *Context) Synchronize(ctx context.Context) error {
	if c == nil || c.core == nil {
		return absentError(c == nil, "context")
	}
	if err := hostthread.Refuse(); err != nil {
		return err
	}
	if err := c.core.life.Retain(); err != nil { // also fails if the context is closed
		return err
	}
	defer c.core.life.Done()
	n := atomic.LoadUint32(&c.core.seen)
	c.core.life.RetainHeld()
	if err := blockUnder(ctx, &c.core.life, c.core.guarded.CuCtxSynchronize); err != nil {
		return err
	}
	return c.core.home.Faults.After(n, &c.core.seen)
}

// CleanupErrors returns the most recent errors that no call could return. Such errors occur when
// the library destroys an unreachable object, or an object whose last reference a wait released.
// The result also includes panics in host functions of closed streams.
func (c *Context) CleanupErrors() []error {
	if c == nil || c.core == nil {
		return nil
	}
	return c.core.home.Errors()
}

// newLifetime begins the lifetime of an object created from c. The object keeps c alive. If c is
// closed, newLifetime returns an error.
func newLifetime(c *Context, kind string) (*life.Lifetime, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", life.AKind(kind), err)
	}
	return c.core.life.Child(kind)
}

// CanAccessPeer reports whether the device can directly access peer's memory.
func (dev Device) CanAccessPeer(peer Device) (bool, error) {
	if err := dev.check(); err != nil {
		return false, err
	}
	if err := peer.check(); err != nil {
		return false, err
	}
	if err := dev.sameDriver(peer); err != nil {
		return false, err
	}
	var can int32
	err := dev.driver.CuDeviceCanAccessPeer(&can, dev.raw, peer.raw)
	return can != 0, dev.named(err)
}

// PeerAttribute returns an attribute of the link between the device and peer.
func (dev Device) PeerAttribute(a cu.CUdevice_P2PAttribute, peer Device) (int, error) {
	if err := dev.check(); err != nil {
		return 0, err
	}
	if err := peer.check(); err != nil {
		return 0, err
	}
	if err := dev.sameDriver(peer); err != nil {
		return 0, err
	}
	var v int32
	err := dev.driver.CuDeviceGetP2PAttribute(&v, a, dev.raw, peer.raw)
	return int(v), dev.named(err)
}

// EnablePeerAccess lets kernels of the context access peer's memory, but not the reverse. Enabling
// access twice is not an error.
func (c *Context) EnablePeerAccess(peer *Context) error {
	return c.peer(peer, "enable", cu.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, func(d *cu.Driver) error {
		return d.CuCtxEnablePeerAccess(peer.core.raw, 0)
	})
}

// DisablePeerAccess reverts EnablePeerAccess, if access is enabled.
func (c *Context) DisablePeerAccess(peer *Context) error {
	return c.peer(peer, "disable", cu.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, func(d *cu.Driver) error {
		return d.CuCtxDisablePeerAccess(peer.core.raw)
	})
}

// peer checks both contexts and runs call. If call returns the code in already, peer ignores the
// error.
func (c *Context) peer(peer *Context, verb string, already CUresult, call func(*cu.Driver) error) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := peer.check(); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	if err := c.sameDriver(peer, peer); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	err := call(&c.core.bound.Driver)
	runtime.KeepAlive(peer)
	runtime.KeepAlive(c)
	if err == nil || isResult(err, already) {
		return nil
	}
	return fmt.Errorf("cannot %s access of %v to %v: %w", verb, c.Device(), peer.Device(), err)
}
