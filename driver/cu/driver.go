package cu

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/purecuda/cuda/loader"
)

// MinVersion is the CUDA version of the oldest driver that this package works
// with: 11.4, NVIDIA's driver 470.
const MinVersion = 11040

// Driver is an opened CUDA driver. Its methods have the C names, and each calls the resolved
// function of the driver API. It is safe for concurrent use.
//
// In some cases the driver keeps state with the thread from one call to the next: between
// cuCtxPushCurrent and cuCtxPopCurrent, and between cuLinkCreate and cuLinkDestroy. Around such
// calls the goroutine needs runtime.LockOSThread, or it may move to another thread. The
// functions that package driver builds on them do not need it.
//
// Bound and Guarded return views: the same driver, but its calls run in a given context, or
// without disturbing captures. A view shares the resolved functions. It is small and may be
// copied.
type Driver struct {
	fn    *functions
	scope *loader.Scope
	core  *driverCore

	bound   CUcontext
	guarded bool
}

// driverCore is the part that all views of a driver share.
type driverCore struct {
	lib         loader.Library
	version     int
	closed      atomic.Bool
	absent      string // why there is no driver; "" if there is one
	beforeClose []func()
}

// New resolves the functions of a library: the system's ([SystemLibrary]), an emulated one, or a
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

// Init calls cuInit, which must precede all other calls. It may be called again.
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
			hinted := *e // e may also be stored in captureFaults
			hinted.Hint, err = hint, &hinted
		}
	}
	return fmt.Errorf("cannot use %s: %w", d.LibraryName(), err)
}

// Bound returns a view of the driver in which every call first makes ctx current on its thread,
// in the same native call. ctx stays current afterwards.
func (d *Driver) Bound(ctx CUcontext) *Driver {
	v := d.bind(ctx) // separate, so that Bound is inlined and its view can stay on the stack
	return &v
}

// Guarded returns a view of the driver in which every call runs in relaxed capture mode, so it
// cannot invalidate an open stream capture on this or another thread.
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

// exists reports whether d was made by New.
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

// Has reports whether the driver has a function with this ABI.
func (d *Driver) Has(f Function) bool {
	return d.exists() && f < functionCount && !d.fn.slice()[f].IsZero()
}

// Proc returns a resolved function, for batches and wrappers. It returns nil if f is not a
// function, and a zero Proc if the driver does not have it.
func (d *Driver) Proc(f Function) *loader.Proc {
	if !d.exists() {
		return nil
	}
	if f >= functionCount {
		return nil
	}
	return &d.fn.slice()[f]
}

// Scope returns the context and capture mode of this view's calls, for batches. It is nil for a
// view that is neither bound nor guarded.
func (d *Driver) Scope() *loader.Scope {
	if d == nil {
		return nil
	}
	return d.scope
}

// Result converts the code that a function returned into an error, for callers that call the
// function with their own argument block.
func (d *Driver) Result(f Function, code uintptr) error {
	if !d.exists() {
		return absentDriver(d == nil)
	}
	return d.result(f, code)
}

// Version returns the CUDA version that the driver supports: 12040 is 12.4.
func (d *Driver) Version() int {
	if !d.exists() {
		return 0
	}
	return d.core.version
}

// LibraryName returns the name of the driver's library.
func (d *Driver) LibraryName() string {
	if !d.exists() {
		return "no driver"
	}
	return d.core.lib.Name()
}

// Library returns the library that the driver was made from.
func (d *Driver) Library() loader.Library {
	if !d.exists() {
		return nil
	}
	return d.core.lib
}

// BeforeClose registers f to be called by the first Close before it closes the library. Closed
// reports true by then. It is for packages that must stop using the driver. Call it before the
// driver is shared between goroutines.
func (d *Driver) BeforeClose(f func()) {
	if d.exists() {
		d.core.beforeClose = append(d.core.beforeClose, f)
	}
}

// Closed reports whether Close was called on this or another view.
func (d *Driver) Closed() bool {
	if !d.exists() {
		return true
	}
	return d.core.closed.Load()
}

// Close closes the library. First close everything that was made with the driver.
//
// The system's library stays in the process, so a call after Close is harmless. What such a call
// does depends on the library; if it fails, its error matches [ErrClosed].
func (d *Driver) Close() error {
	if !d.exists() || d.core.closed.Swap(true) {
		return nil
	}
	for _, f := range d.core.beforeClose {
		f()
	}
	return d.core.lib.Close()
}

// result converts a CUresult into an error. It is small enough to be inlined into every method.
func (d *Driver) result(f Function, code uintptr) error {
	if uint32(code) == 0 { // the upper half of the register is undefined
		return nil
	}
	return d.fail(f, code)
}
