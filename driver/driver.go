package driver

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/purecuda/cuda/loader"
)

// MinVersion is the CUDA version of the oldest driver that this package works
// with: 11.4, NVIDIA's driver 470.
const MinVersion = 11040

// Driver is an opened CUDA driver: one resolved function for each function of
// the driver API, as methods with the C names. It may be used from any number
// of goroutines.
//
// Where the driver keeps something with the thread from one of these calls to
// the next, between cuCtxPushCurrent and cuCtxPopCurrent or cuLinkCreate and
// cuLinkDestroy, the goroutine needs runtime.LockOSThread, or it ends up on
// another. What this package builds on them needs none.
//
// Bound and Guarded return views: the same driver, whose calls run under a
// given context or without disturbing captures.
type Driver struct {
	fn    *functions
	scope *loader.Scope
	core  *driverCore

	bound   CUcontext
	guarded bool
}

// driverCore is what all views of a driver share.
type driverCore struct {
	lib     loader.Library
	version int
	closed  atomic.Bool
}

// New resolves the functions of a library: the system's ([SystemLibrary]), an
// emulated one, or a wrapper around either. It does not call cuInit.
//
// Functions that the library does not have, and those that are newer than the
// version it reports, answer an error that matches [ErrNotSupported].
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

// Open opens the system's driver and initialises it. Its errors say what to do
// where there is no usable one: no library (a [*loader.OpenError] with each name
// that was tried), no GPU (CUDA_ERROR_NO_DEVICE), a driver that is too old
// ([ErrDriverTooOld]), a build or a platform that cannot open one
// ([loader.ErrStatic], [loader.ErrUnsupportedPlatform]).
func Open() (*Driver, error) {
	lib, err := SystemLibrary("")
	if err != nil {
		return nil, err
	}
	d, err := New(lib)
	if err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	if err := d.Init(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Init calls cuInit, without which no other call works. Calling it again is
// harmless.
func (d *Driver) Init() error {
	err := d.CuInit(0)
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if hint := initHint(e.Result); hint != "" {
			hinted := *e // e may be remembered elsewhere
			hinted.Hint, err = hint, &hinted
		}
	}
	return fmt.Errorf("cannot use %s: %w", d.LibraryName(), err)
}

// Bound returns a view of the driver in which every call first makes ctx
// current on the thread it runs on, in the same crossing. It leaves it current.
func (d *Driver) Bound(ctx CUcontext) *Driver {
	return d.view(ctx, d.guarded)
}

// Guarded returns a view of the driver in which every call runs under the
// relaxed capture mode: it cannot invalidate a stream capture that is open on
// this or on another thread.
func (d *Driver) Guarded() *Driver {
	return d.view(d.bound, true)
}

func (d *Driver) view(ctx CUcontext, guarded bool) *Driver {
	v := &Driver{fn: d.fn, core: d.core, bound: ctx, guarded: guarded}
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
	return f < functionCount && !d.fn.slice()[f].IsZero()
}

// Proc returns a resolved function, for batches and wrappers. It is nil if f
// is no function, and zero if the driver does not have it.
func (d *Driver) Proc(f Function) *loader.Proc {
	if f >= functionCount {
		return nil
	}
	return &d.fn.slice()[f]
}

// Scope returns the conditions under which the calls of this view run, for
// batches. It is nil for a view that is neither bound nor guarded.
func (d *Driver) Scope() *loader.Scope { return d.scope }

// Result turns what a function returned through a block of the caller's own
// into an error.
func (d *Driver) Result(f Function, code uintptr) error { return d.result(f, code) }

// Version returns the CUDA version that the driver supports: 12040 is 12.4.
func (d *Driver) Version() int { return d.core.version }

// LibraryName says which library this is.
func (d *Driver) LibraryName() string { return d.core.lib.Name() }

// Library returns the library the driver was made from.
func (d *Driver) Library() loader.Library { return d.core.lib }

// Closed reports whether Close was called, on this or on another view.
func (d *Driver) Closed() bool { return d.core.closed.Load() }

// Close gives the library back. Close what was made from the driver before.
//
// The system's library stays in the process, so that a call after Close is
// harmless. What such a call does is up to the library; if it fails, its error
// matches [ErrClosed].
func (d *Driver) Close() error {
	if d == nil || d.core.closed.Swap(true) {
		return nil
	}
	return d.core.lib.Close()
}

// result turns a CUresult into an error. It is small, so that it is inlined
// into every method.
func (d *Driver) result(f Function, code uintptr) error {
	if uint32(code) == 0 { // the upper half of the register is undefined
		return nil
	}
	return d.fail(f, code)
}
