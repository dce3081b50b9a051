package driver

import (
	"errors"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// Driver is an opened CUDA driver. It may be used from any number of goroutines.
//
// It embeds the driver of package cu, so that every raw function is one of its
// methods, with the C name: d.CuLaunchKernel. The raw functions of a zero Driver
// return an error. On a nil *Driver they panic, as promoted methods do.
//
// Bound and Guarded return views: the same driver, whose calls run under a
// given context or without disturbing captures.
type Driver struct {
	cu.Driver
	core *driverCore
}

// driverCore is what this package has for all views of a driver.
type driverCore struct {
	background background
}

// New resolves the functions of a library and initialises it: the system's
// ([SystemLibrary]), an emulated one, or a wrapper around either. If it fails, the
// library is still the caller's.
//
// Functions that the library does not have, and those that are newer than the
// version it reports, return an error that matches [ErrNotSupported].
func New(lib loader.Library) (*Driver, error) {
	raw, err := cu.New(lib)
	if err != nil {
		return nil, err
	}
	if err := raw.Init(); err != nil {
		return nil, err
	}
	d := &Driver{*raw, new(driverCore)}
	d.BeforeClose(func() { d.core.background.wait(closePatience) })
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
	return d, nil
}

// Init is the raw driver's. New and Open have called it.
func (d *Driver) Init() error { return d.raw().Init() }

// Bound returns a view of the driver in which every call first makes ctx
// current on the thread it runs on, in the same native call. It leaves it
// current.
func (d *Driver) Bound(ctx CUcontext) *Driver {
	if !d.exists() {
		return noDriver()
	}
	return &Driver{*d.Driver.Bound(ctx), d.core}
}

// Guarded returns a view of the driver in which every call runs under the
// relaxed capture mode: it cannot invalidate a stream capture that is open
// on this or on another thread.
func (d *Driver) Guarded() *Driver {
	if !d.exists() {
		return noDriver()
	}
	return &Driver{*d.Driver.Guarded(), d.core}
}

// exists reports whether d was made by New or Open.
func (d *Driver) exists() bool { return d != nil && d.core != nil }

// raw is the driver without what this package adds, nil for a nil one.
func (d *Driver) raw() *cu.Driver {
	if d == nil {
		return nil
	}
	return &d.Driver
}

// Has reports whether the driver has a function with this ABI.
func (d *Driver) Has(f cu.Function) bool { return d.raw().Has(f) }

// Version returns the CUDA version that the driver supports: 12040 is 12.4.
func (d *Driver) Version() int { return d.raw().Version() }

// LibraryName says which library this is.
func (d *Driver) LibraryName() string { return d.raw().LibraryName() }

// Library returns the library the driver was made from.
func (d *Driver) Library() loader.Library { return d.raw().Library() }

// Closed reports whether Close was called, on this or on another view.
func (d *Driver) Closed() bool { return d.raw().Closed() }

// Close gives the library back. Close what was made from the driver before.
//
// The system's library stays in the process, so that a call after Close is
// harmless. What such a call does is up to the library; if it fails, its error
// matches [ErrClosed]. A host function cannot close the driver that calls it:
// there, Close does nothing and returns CUDA_ERROR_NOT_PERMITTED.
//
// What was closed while the GPU still used it is destroyed on goroutines of this
// package. Close waits for them, but for no more than ten seconds where work of
// the GPU does not end.
func (d *Driver) Close() error {
	if !d.exists() {
		return nil
	}
	if err := notInCallback(); err != nil {
		return err
	}
	return d.Driver.Close()
}
