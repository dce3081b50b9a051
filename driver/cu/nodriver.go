package cu

import (
	"sync"

	"github.com/purecuda/cuda/loader"
)

// NoContext returns the driver for a nil context. It is closed. Each of its functions fails with
// CUDA_ERROR_INVALID_CONTEXT, and the error states that there is no driver.
func NoContext() *Driver { return noContext() }

var noContext = sync.OnceValue(func() *Driver {
	return newNoDriver("of a nil context", "there is no driver: it came from a nil or zero context")
})

// nilDriver returns the driver that the methods of a nil or zero Driver use in its place.
var nilDriver = sync.OnceValue(func() *Driver {
	return newNoDriver("of a nil Driver", "the Driver is nil or zero: driver.Open or driver.New returns one")
})

// newNoDriver returns a driver whose functions all fail. absent is the reason. If absent is "", the
// reason is that the driver was closed.
func newNoDriver(name, absent string) *Driver {
	d := &Driver{fn: new(functions), core: &driverCore{lib: noLibrary(name), absent: absent}}
	d.core.closed.Store(true)
	refuse := loader.FuncProc(func(loader.Args) uintptr { return uintptr(CUDA_ERROR_INVALID_CONTEXT) })
	for i := range d.fn.slice() {
		d.fn.slice()[i] = refuse
	}
	return d
}

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
