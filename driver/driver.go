package driver

import (
	"errors"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// Driver is an opened CUDA driver. Any number of goroutines may use it.
//
// It embeds the driver of package cu, so every raw function is a method with its C name:
// d.CuLaunchKernel. The raw functions of a zero Driver return an error. On a nil *Driver they
// panic, as promoted methods do.
//
// Bound and Guarded return views: the same driver, with calls that run in a given context or that
// do not disturb captures.
type Driver struct {
	cu.Driver
	core *driverCore
}

// closePatience limits how long Close waits for objects that are destroyed in the background,
// because GPU work may never end.
const closePatience = 10 * time.Second

// driverCore is shared by all views of a driver.
type driverCore struct {
	background life.Background
}

// New resolves the functions of a library and initialises it. The library is the system's
// ([SystemLibrary]), an emulator, or a wrapper around either. If New fails, the caller still owns
// the library.
//
// Functions that the library lacks, and those newer than the version it reports, return an error
// that matches [ErrNotSupported].
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

// Open opens the system's driver and initialises it. If there is no usable driver, the error says
// what to do: no library (a [*loader.OpenError] with each name that was tried), no GPU
// (CUDA_ERROR_NO_DEVICE), a driver that is too old ([ErrDriverTooOld]), or a build or platform that
// cannot open one ([loader.ErrStatic], [loader.ErrUnsupportedPlatform]).
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

// Init calls the raw driver's Init, as New and Open already did.
func (d *Driver) Init() error { return d.raw().Init() }

// Bound returns a view of the driver in which every call first makes ctx current on its thread, in
// the same native call. ctx stays current.
func (d *Driver) Bound(ctx CUcontext) *Driver {
	if !d.exists() {
		return noDriver()
	}
	return &Driver{*d.Driver.Bound(ctx), d.core}
}

// Guarded returns a view of the driver in which every call runs in the relaxed capture mode: it
// cannot invalidate a stream capture on any thread.
func (d *Driver) Guarded() *Driver {
	if !d.exists() {
		return noDriver()
	}
	return &Driver{*d.Driver.Guarded(), d.core}
}

// exists reports whether d was made by New or Open.
func (d *Driver) exists() bool { return d != nil && d.core != nil }

// raw returns the driver of package cu, nil for a nil d.
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

// LibraryName returns the name of the library.
func (d *Driver) LibraryName() string { return d.raw().LibraryName() }

// Library returns the library that the driver was created from.
func (d *Driver) Library() loader.Library { return d.raw().Library() }

// Closed reports whether Close was called on this view or another.
func (d *Driver) Closed() bool { return d.raw().Closed() }

// Close releases the library. Close the objects created from the driver before.
//
// The system's library stays in the process, so that calls after Close are harmless. Their
// behaviour is up to the library. If they fail, the error matches [ErrClosed]. A host function
// cannot close the driver that calls it: there, Close does nothing and returns
// CUDA_ERROR_NOT_PERMITTED.
//
// Objects that were closed while the GPU still used them are destroyed in the background. Close
// waits for that, for at most ten seconds if GPU work does not end.
func (d *Driver) Close() error {
	if !d.exists() {
		return nil
	}
	if err := hostthread.Refuse(); err != nil {
		return err
	}
	return d.Driver.Close()
}
