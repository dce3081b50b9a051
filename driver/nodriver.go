package driver

import (
	"sync"

	"github.com/purecuda/cuda/loader"
)

// noDriver is the driver of a nil Context: a closed one, whose every function
// fails with an error that matches ErrClosed.
var noDriver = sync.OnceValue(func() *Driver {
	d := &Driver{fn: new(functions), core: &driverCore{lib: noLibrary{}}}
	d.core.closed.Store(true)
	refuse := loader.FuncProc(func(loader.Args) uintptr { return uintptr(CUDA_ERROR_INVALID_CONTEXT) })
	for i := range d.fn.slice() {
		d.fn.slice()[i] = refuse
	}
	return d
})

type noLibrary struct{}

func (noLibrary) Name() string                       { return "of a nil context" }
func (noLibrary) Lookup(string) (loader.Proc, error) { return loader.Proc{}, loader.ErrSymbolNotFound }
func (noLibrary) Close() error                       { return nil }
