package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
)

// Context is a CUDA context: the address space and the objects of one device.
// Almost every other object is made from one. Nothing has to be made current:
// each call on the context or on its objects does that for itself.
//
// Closing a context refuses new objects at once; those that exist keep working
// and the driver's context is released when the last of them is closed.
type Context struct {
	core      *contextCore
	legacy    Stream
	perThread Stream
	embedded  embedded
}

// contextCore is what a context's objects keep alive. It does not refer to the
// Context, so that the Context can be found unreachable.
type contextCore struct {
	life    Lifetime
	dev     Device
	raw     CUcontext
	bound   *Driver
	guarded *Driver
	loose   *Driver               // guarded, for calls to which a stream or an event says the context
	release func(d *Driver) error // gives raw back
	marks   markPool
	sched   atomic.Uint32 // see sleeps
	faults  faults

	mu      sync.Mutex
	cleanup []error
	code    []*Lifetime // of embedded modules
}

// maxCleanupErrors bounds what a context remembers: when a device is lost,
// every destruction fails.
const maxCleanupErrors = 64

// PrimaryContext retains the device's primary context, the one that the CUDA
// runtime and most libraries use; this is the context to take unless there is
// a reason for another. Each call returns a Context of its own for the same
// driver context, which lives until the last one in the process is closed.
func (dev Device) PrimaryContext() (*Context, error) {
	if err := dev.check(); err != nil {
		return nil, err
	}
	var raw CUcontext
	if err := dev.driver.CuDevicePrimaryCtxRetain(&raw, dev.raw); err != nil {
		return nil, fmt.Errorf("cannot retain the primary context of %v: %w", dev, err)
	}
	device := dev.raw
	return newContext(dev, raw, func(d *Driver) error {
		return d.CuDevicePrimaryCtxRelease(device)
	}), nil
}

// NewContext creates a context beside the primary one. It costs device memory
// and hundreds of milliseconds, and contexts cannot run concurrently; its use
// is isolation and flags that the primary context was not made with.
func (dev Device) NewContext(flags cu.CUctx_flags) (*Context, error) {
	if err := dev.check(); err != nil {
		return nil, err
	}
	raw, err := dev.createContext(flags)
	if err != nil {
		return nil, fmt.Errorf("cannot create a context on %v: %w", dev, err)
	}
	return newContext(dev, raw, func(d *Driver) error { return d.CuCtxDestroy(raw) }), nil
}

// createContext leaves the thread as it was: the driver pushes a new context
// on the stack of the thread that created it, where a later goroutine would
// find it.
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

// BorrowContext returns a Context for a handle that other code owns, for example
// another library's. The owner keeps it until the Context and all that was made
// from it are closed: closing them destroys what was made here, and not the
// driver's context.
func (dev Device) BorrowContext(raw CUcontext) (*Context, error) {
	if err := dev.check(); err != nil {
		return nil, err
	}
	if raw == 0 {
		return nil, invalidf("no context to borrow on %v: the handle is 0", dev)
	}
	var of CUdevice
	if err := dev.driver.Bound(raw).Guarded().CuCtxGetDevice(&of); err != nil {
		return nil, fmt.Errorf("cannot borrow context %#x on %v: %w", uintptr(raw), dev, err)
	}
	if of != dev.raw {
		return nil, invalidf("context %#x is of device %d, not of %v", uintptr(raw), of, dev)
	}
	return newContext(dev, raw, func(*Driver) error { return nil }), nil
}

func newContext(dev Device, raw CUcontext, release func(*Driver) error) *Context {
	core := &contextCore{dev: dev, raw: raw, release: release}
	core.bound = dev.driver.Bound(raw)
	core.guarded = core.bound.Guarded()
	core.loose = core.guarded
	if dev.driver.Version() >= selfBound {
		core.loose = dev.driver.Guarded()
	}
	core.life.kind, core.life.core = "context", core
	core.life.refs.Store(1)
	c := &Context{core: core}
	c.legacy = c.borrowed(cu.CU_STREAM_LEGACY)
	c.perThread = c.borrowed(cu.CU_STREAM_PER_THREAD)
	Own(c, &core.life, uint64(raw), core.destroy)
	return c
}

// destroy runs when the last object of the context is gone. The context itself
// is released by a call that is not bound to it.
func (core *contextCore) destroy(d *Driver) error {
	if err := core.marks.destroy(d); err != nil {
		core.recordCleanup(err) // they are not the program's
	}
	return errors.Join(core.unload(d), core.release(core.dev.driver.Guarded()))
}

func (c *Context) check() error {
	if c == nil || c.core == nil {
		return absentError(c == nil, "context")
	}
	return c.core.life.Check()
}

// Raw returns the driver's handle, 0 for a nil context.
func (c *Context) Raw() CUcontext {
	if c == nil || c.core == nil {
		return 0
	}
	return c.core.raw
}

// Device returns the device the context is on.
func (c *Context) Device() Device {
	if c == nil || c.core == nil {
		return Device{}
	}
	return c.core.dev
}

// Driver returns a view of the driver in which every call runs with this
// context current. It keeps working after Close for as long as the context
// has open objects. For a nil context it is a view of a closed driver.
func (c *Context) Driver() *Driver {
	if c == nil || c.core == nil {
		return noDriver()
	}
	return c.core.bound
}

// Guarded returns a view like Driver's in which every call also runs under the
// relaxed capture mode, so that it cannot invalidate a capture that is open
// elsewhere. It is for calls that a program did not ask for at this moment:
// freeing, growing, waiting in the background.
func (c *Context) Guarded() *Driver {
	if c == nil || c.core == nil {
		return noDriver()
	}
	return c.core.guarded
}

// Lifetime is the context's ownership record, nil for a nil context.
func (c *Context) Lifetime() *Lifetime {
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

// sameAs reports whether both are the same driver context, which two retained
// primary contexts are.
func (c *Context) sameAs(o *Context) bool {
	return c == o || c.Raw() != 0 && c.Raw() == o.Raw() && c.core.dev.driver.core == o.core.dev.driver.core
}

// sameDriver refuses what belongs to a context of another driver: that one's
// handles would crash this one.
func (c *Context) sameDriver(o *Context, what fmt.Stringer) error {
	if c == o || c.core.dev.driver.core == o.core.dev.driver.core {
		return nil
	}
	return invalidf("%v belongs to another driver (%s)", what, o.core.dev.driver.LibraryName())
}

// Close refuses new objects and releases the driver's context when the last
// object made from it is closed, which may be now.
func (c *Context) Close() error {
	if c == nil || c.core == nil {
		return nil
	}
	err := c.core.life.Close()
	runtime.KeepAlive(c)
	return err
}

// MemInfo returns the free and the total bytes of device memory.
func (c *Context) MemInfo() (free, total uint64, err error) {
	if err := c.check(); err != nil {
		return 0, 0, err
	}
	var f, t uintptr
	err = c.core.bound.CuMemGetInfo(&f, &t)
	runtime.KeepAlive(c)
	return uint64(f), uint64(t), err
}

// Limit returns one of the context's resource limits, in the limit's own unit:
// bytes for stacks, buffers, heaps and caches, a number for depths and counts. One
// that the device does not have is CUDA_ERROR_UNSUPPORTED_LIMIT.
func (c *Context) Limit(l cu.CUlimit) (uint64, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	var v uintptr
	err := c.core.bound.CuCtxGetLimit(&v, l)
	runtime.KeepAlive(c)
	return uint64(v), err
}

// SetLimit changes one of the context's resource limits, for example the stack
// size of a thread or the size of the device's printf buffer.
func (c *Context) SetLimit(l cu.CUlimit, v uint64) error {
	if err := c.check(); err != nil {
		return err
	}
	err := c.core.bound.CuCtxSetLimit(l, uintptr(v))
	runtime.KeepAlive(c)
	return err
}

// StreamPriorityRange returns the least and the greatest priority that streams
// can have. Greater priorities are lower numbers; both are 0 where the device
// has no priorities.
func (c *Context) StreamPriorityRange() (least, greatest int, err error) {
	if err := c.check(); err != nil {
		return 0, 0, err
	}
	var l, g int32
	err = c.core.bound.CuCtxGetStreamPriorityRange(&l, &g)
	runtime.KeepAlive(c)
	return int(l), int(g), err
}

// Synchronize waits until everything that was sent to the context is done.
//
// The driver has no query for a whole context, so unless ctx can never be
// cancelled, a goroutine makes the blocking call: after a cancellation it stays
// until the device is done. To wait for one stream, Stream.Wait is better.
func (c *Context) Synchronize(ctx context.Context) error {
	if c == nil || c.core == nil {
		return absentError(c == nil, "context")
	}
	if err := notInCallback(); err != nil {
		return err
	}
	if err := c.core.life.Retain(); err != nil { // a closed context, too
		return err
	}
	return blockUnder(ctx, &c.core.life, c.core.guarded.CuCtxSynchronize)
}

// CleanupErrors returns what went wrong where nobody could be told: while
// destroying dropped objects, or objects whose last user was a wait. Only the
// latest are kept.
func (c *Context) CleanupErrors() []error {
	if c == nil || c.core == nil {
		return nil
	}
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	return slices.Clone(c.core.cleanup)
}

func (core *contextCore) recordCleanup(err error) {
	core.mu.Lock()
	defer core.mu.Unlock()
	if len(core.cleanup) == maxCleanupErrors {
		core.cleanup = append(core.cleanup[:0], core.cleanup[1:]...)
	}
	core.cleanup = append(core.cleanup, err)
}
