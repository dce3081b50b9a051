package cu

import (
	"sync"

	"github.com/purecuda/cuda/loader"
)

// NoContext returns a closed driver whose every function fails with
// CUDA_ERROR_INVALID_CONTEXT and says that there is no driver: that of a nil
// context.
func NoContext() *Driver { return noContext() }

var noContext = sync.OnceValue(func() *Driver {
	return newNoDriver("of a nil context", "there is no driver: the context it was asked from is nil or zero")
})

// nilDriver is what the functions of a nil or zero Driver are called on.
var nilDriver = sync.OnceValue(func() *Driver {
	return newNoDriver("of a nil Driver", "the Driver is nil or zero: driver.Open or driver.New returns one")
})

// newNoDriver returns a driver whose every function fails; absent is why, if not
// because it was closed.
func newNoDriver(name, absent string) *Driver {
	d := &Driver{fn: new(functions), core: &driverCore{lib: noLibrary(name), absent: absent}}
	d.core.closed.Store(true)
	refuse := loader.FuncProc(func(loader.Args) uintptr { return uintptr(CUDA_ERROR_INVALID_CONTEXT) })
	for i := range d.fn.slice() {
		d.fn.slice()[i] = refuse
	}
	return d
}

// orNone is d, or for a nil or a zero one nilDriver.
func (d *Driver) orNone() *Driver {
	if d == nil || d.fn == nil {
		return nilDriver()
	}
	return d
}

type noLibrary string

func (l noLibrary) Name() string                     { return string(l) }
func (noLibrary) Lookup(string) (loader.Proc, error) { return loader.Proc{}, loader.ErrSymbolNotFound }
func (noLibrary) Close() error                       { return nil }
