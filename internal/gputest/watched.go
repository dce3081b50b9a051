package gputest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// Watched returns a context of an emulator. The emulator calls the function see before each call
// of f. Tests use it to check the arguments that reach the driver.
func Watched(t testing.TB, f cu.Function, see func(a loader.Args)) *driver.Context {
	t.Helper()
	return Context(t, Driver(t, watched{emulator.New(emulator.Config{}), f.Symbol(), see}))
}

type watched struct {
	loader.Library
	symbol string
	see    func(a loader.Args)
}

func (w watched) Lookup(symbol string) (loader.Proc, error) {
	inner, err := w.Library.Lookup(symbol)
	if err != nil || symbol != w.symbol {
		return inner, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		w.see(a)
		return a.Forward(&inner)
	}), nil
}
