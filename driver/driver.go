package driver

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/kernelfault"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// Driver is an opened CUDA driver. It embeds the driver of package cu, so every raw function is a
// method with its C name: d.CuLaunchKernel. On a zero Driver these methods return an error. On a
// nil *Driver they panic.
//
// Bound returns a view of the same driver whose calls run in a given context. Guarded returns a
// view whose calls cannot invalidate captures.
type Driver struct {
	cu.Driver
	core *driverCore
}

// closePatience limits how long Close waits for objects that are being destroyed in the background.
// Without a limit, a kernel that never ends would block Close.
const closePatience = 10 * time.Second

// driverCore is shared by all views of a driver.
type driverCore struct {
	background   life.Background
	kernelFaults kernelfault.Registry
}

// New resolves the functions of a library and initialises the driver. The library can be the
// system's ([SystemLibrary]), an emulator, or a wrapper around either. If New fails, the caller
// still owns the library. Functions that the library lacks, or that are newer than the version it
// reports, return an error that matches [ErrNotSupported].
func New(lib loader.Library) (*Driver, error) {
	raw, err := cu.New(lib)
	if err != nil {
		return nil, err
	}
	if err := raw.Init(); err != nil {
		return nil, err
	}
	d := &Driver{*raw, new(driverCore)}
	d.BeforeClose(func() { d.core.background.Wait(closePatience) })
	return d, nil
}

// Open opens the system's driver and initialises it. If that fails, the error states the cause and
// the remedy: no library (a *loader.OpenError with each name that was tried), no GPU
// (CUDA_ERROR_NO_DEVICE), a driver that is too old ([ErrDriverTooOld]), or a build or platform that
// cannot open a driver (loader.ErrStatic, loader.ErrUnsupportedPlatform).
func Open() (*Driver, error) {
	lib, err := SystemLibrary("")
	if err != nil {
		return nil, err
	}
	d, err := New(lib)
	if err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	return d, nil
}

// Init initialises the driver. New and Open have already called it.
func (d *Driver) Init() error { return d.raw().Init() }

// Bound returns a view of the driver in which every call first makes ctx current on its thread, in
// the same native call. ctx stays current.
func (d *Driver) Bound(ctx CUcontext) *Driver {
	if !d.exists() {
		return noDriver()
	}
	return &Driver{*d.Driver.Bound(ctx), d.core}
}

// Guarded returns a view of the driver whose calls run in the relaxed capture mode. In that mode,
// they cannot invalidate a stream capture on any thread.
func (d *Driver) Guarded() *Driver {
	if !d.exists() {
		return noDriver()
	}
	return &Driver{*d.Driver.Guarded(), d.core}
}

// exists reports whether d is a driver from New or Open, or a view of one.
func (d *Driver) exists() bool { return d != nil && d.core != nil }

func (d *Driver) raw() *cu.Driver {
	if d == nil {
		return nil
	}
	return &d.Driver
}

// Has reports whether the driver has this version of the function.
func (d *Driver) Has(f cu.Function) bool { return d.raw().Has(f) }

// Version returns the CUDA version that the driver supports: 12040 for 12.4.
func (d *Driver) Version() int { return d.raw().Version() }

// Library returns the library that the driver was created from.
func (d *Driver) Library() loader.Library { return d.raw().Library() }

// Closed reports whether Close was called on any view of the driver.
func (d *Driver) Closed() bool { return d.raw().Closed() }

// Close releases the library. First close the objects created from the driver. Close waits at most
// ten seconds for the GPU work of closed objects.
//
// The system's library stays loaded, so later calls are safe. A later call still reaches the
// library, and any error it returns matches [ErrClosed]. A host function cannot close the driver
// that calls it: there, Close does nothing and returns CUDA_ERROR_NOT_PERMITTED.
func (d *Driver) Close() error {
	if !d.exists() {
		return nil
	}
	if err := hostthread.Refuse(); err != nil {
		return err
	}
	return d.Driver.Close()
}

// Available returns nil if the system's CUDA driver can be used. Otherwise the error states the
// reason: a missing library, no GPU, a driver that is too old, or devices that other processes use
// exclusively. Available determines the result once and leaves the library loaded. If the process
// has no primary context, the first call takes as long as creating one.
func Available() error { return available() }

var available = sync.OnceValue(func() error {
	d, err := Open()
	if err != nil {
		return err
	}
	return usable(d)
})

// usable returns nil if at least one device of d can create a context.
func usable(d *Driver) error {
	var errs []error
	for dev, err := range d.Devices() {
		if err != nil {
			return err
		}
		if err = dev.givesContext(); err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return fmt.Errorf("%s shows no device to this process, see CUDA_VISIBLE_DEVICES: %w",
			d.Library().Name(), CUDA_ERROR_NO_DEVICE)
	}
	return errors.Join(errs...)
}

func (dev Device) givesContext() error {
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	return c.Close()
}

// Leak describes an object that became unreachable without being closed. A Leak from [OpenObjects]
// describes an object that is still open.
type Leak struct {
	Kind    string    // "stream", "buffer of float32", …
	Handle  uint64    // the driver's handle for the object
	Device  Device    // the object's device
	Context CUcontext // the object's context
	Stack   string    // where the object was created, innermost call first
	Err     error     // why the driver could not destroy the object, or nil
}

// String names the object, why it was not destroyed, and where it was created.
func (l Leak) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %#x of %v was not closed", l.Kind, l.Handle, l.Device)
	if l.Err != nil {
		fmt.Fprintf(&b, " and could not be destroyed: %v", l.Err)
	}
	if l.Stack != "" {
		fmt.Fprintf(&b, "; made at:\n%s", l.Stack)
	}
	return b.String()
}

// SetLeakHook sets a hook that is called for every object that becomes unreachable without Close.
// It returns the previous hook. The hook receives the stack of the object's creation. Without a
// hook, such objects are destroyed silently, and tracking them costs nothing. Stacks are recorded
// only for objects created after the call. A nil hook turns recording off. The hook runs on a
// goroutine of this package, after the object was destroyed.
func SetLeakHook(hook func(Leak)) (previous func(Leak)) {
	hooks.Lock()
	defer hooks.Unlock()
	previous, hooks.current = hooks.current, hook
	if hook == nil {
		life.SetHook(nil)
		return previous
	}
	report := func(r life.Report) { hook(leakOf(r)) }
	life.SetHook(&report)
	return previous
}

var hooks struct {
	sync.Mutex
	current func(Leak)
}

func leakOf(r life.Report) Leak {
	l := Leak{Kind: r.Kind, Handle: r.Handle, Stack: r.Stack, Err: r.Err}
	if core, ok := r.Owner.(*contextCore); ok {
		l.Device, l.Context = core.dev, core.raw
	}
	return l
}

// OpenObjects returns the objects created since a leak hook was set and not yet destroyed, in any
// order. Without a hook, it returns none.
func OpenObjects() []Leak {
	open := life.Open()
	leaks := make([]Leak, len(open))
	for i, r := range open {
		leaks[i] = leakOf(r)
	}
	return leaks
}
