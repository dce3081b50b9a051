package cu

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/purecuda/cuda/loader"
)

// MinVersion is the CUDA version of the oldest supported driver: 11.4, for NVIDIA driver 470.
const MinVersion = 11040

// Driver is an opened CUDA driver. Each method has the name of a C function and calls that function
// of the driver. It is safe for concurrent use.
//
// Between some calls, the driver keeps state in the OS thread: between cuCtxPushCurrent and
// cuCtxPopCurrent, and between cuLinkCreate and cuLinkDestroy. A goroutine that makes such calls
// must use runtime.LockOSThread, because otherwise it may move to another thread. Package driver's
// own functions do that where necessary.
//
// Bound returns a view of the same driver whose calls run in a given context. Guarded returns a
// view whose calls cannot invalidate captures. All views share the resolved functions. A view is
// small and may be copied.
type Driver struct {
	fn    *functions
	scope *loader.Scope
	core  *driverCore

	bound   CUcontext
	guarded bool
}

type driverCore struct {
	lib         loader.Library
	version     int
	closed      atomic.Bool
	absent      string // why there is no driver; "" if there is one
	beforeClose []func()
}

// New resolves the functions of a library: the system's ([SystemLibrary]), an emulator, or a
// wrapper around either. It does not call cuInit.
//
// Functions that the library does not have, or that are newer than the version it reports,
// return an error that matches [ErrNotSupported].
func New(lib loader.Library) (*Driver, error) {
	if lib == nil {
		return nil, errors.New("driver.New: the library is nil")
	}
	d := &Driver{fn: new(functions), core: &driverCore{lib: lib}}
	version, err := libraryVersion(lib)
	if err != nil {
		return nil, err
	}
	d.core.version = version
	if err := d.fn.resolve(lib, version); err != nil {
		return nil, err
	}
	return d, nil
}

// Init calls cuInit, which must run before all other calls. Calling Init again is allowed.
func (d *Driver) Init() error {
	if !d.exists() {
		return absentDriver(d == nil)
	}
	err := d.CuInit(0)
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if hint := initHint(e.Result); hint != "" {
			hinted := *e // a copy, because captureFaults may also store e
			hinted.Hint, err = hint, &hinted
		}
	}
	return fmt.Errorf("cannot use %s: %w", d.Library().Name(), err)
}

// Bound returns a view of the driver in which every call first makes ctx current on its thread, in
// the same native call. ctx stays current afterwards.
func (d *Driver) Bound(ctx CUcontext) *Driver {
	// bind is a separate method so that Bound is inlined and its view can stay on the stack.
	v := d.bind(ctx)
	return &v
}

// Guarded returns a view of the driver whose calls run in the relaxed capture mode. In that mode,
// they cannot invalidate a stream capture on any thread.
func (d *Driver) Guarded() *Driver {
	v := d.guard()
	return &v
}

func (d *Driver) bind(ctx CUcontext) Driver {
	if !d.exists() {
		return *NoContext()
	}
	return d.view(ctx, d.guarded)
}

func (d *Driver) guard() Driver {
	if !d.exists() {
		return *NoContext()
	}
	return d.view(d.bound, true)
}

func (d *Driver) exists() bool { return d != nil && d.core != nil }

func (d *Driver) view(ctx CUcontext, guarded bool) Driver {
	v := Driver{fn: d.fn, core: d.core, bound: ctx, guarded: guarded}
	var exchange *loader.Proc
	if guarded {
		exchange = &d.fn.cuThreadExchangeStreamCaptureMode
	}
	if ctx != 0 || guarded {
		v.scope = loader.NewScope(&d.fn.cuCtxGetCurrent, &d.fn.cuCtxSetCurrent, uintptr(ctx), exchange)
	}
	return v
}

// Has reports whether the driver has this version of the function.
func (d *Driver) Has(f Function) bool {
	return d.exists() && f < functionCount && !d.fn.slice()[f].IsZero()
}

// Proc returns a resolved function, for batches and wrappers. If f is not a valid Function, Proc
// returns nil. If the driver does not have f, it returns a zero Proc.
func (d *Driver) Proc(f Function) *loader.Proc {
	if !d.exists() {
		return nil
	}
	if f >= functionCount {
		return nil
	}
	return &d.fn.slice()[f]
}

// Scope returns the context and capture mode of this view's calls, for batches. For a view that is
// neither bound nor guarded, it returns nil.
func (d *Driver) Scope() *loader.Scope {
	if d == nil {
		return nil
	}
	return d.scope
}

// Result converts a function's result code to an error. It is for code that calls the function with
// its own argument block.
func (d *Driver) Result(f Function, code uintptr) error {
	if !d.exists() {
		return absentDriver(d == nil)
	}
	return d.result(f, code)
}

// Version returns the CUDA version that the driver supports. For CUDA 12.4 it returns 12040.
func (d *Driver) Version() int {
	if !d.exists() {
		return 0
	}
	return d.core.version
}

// Library returns the library that the driver was created from. For a nil or zero Driver, it
// returns a library without functions.
func (d *Driver) Library() loader.Library {
	if !d.exists() {
		return noLibrary("no driver")
	}
	return d.core.lib
}

// BeforeClose registers a function that the first Close calls before it closes the library. At that
// time, Closed already returns true. Packages that use the driver in the background stop doing so
// in f. Call BeforeClose before goroutines share the driver.
func (d *Driver) BeforeClose(f func()) {
	if d.exists() {
		d.core.beforeClose = append(d.core.beforeClose, f)
	}
}

// Closed reports whether Close was called on any view of the driver.
func (d *Driver) Closed() bool {
	if !d.exists() {
		return true
	}
	return d.core.closed.Load()
}

// Close closes the library. First close all objects created from the driver.
//
// The system's library stays loaded, so a call after Close is safe. Such a call still reaches the
// library, and any error it returns matches [ErrClosed].
func (d *Driver) Close() error {
	if !d.exists() || d.core.closed.Swap(true) {
		return nil
	}
	for _, f := range d.core.beforeClose {
		f()
	}
	return d.core.lib.Close()
}

// result converts a CUresult to an error. It must stay small enough to be inlined into every
// method.
func (d *Driver) result(f Function, code uintptr) error {
	if uint32(code) == 0 { // the upper half of the register is undefined
		return nil
	}
	return d.fail(f, code)
}
