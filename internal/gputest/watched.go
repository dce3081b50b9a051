package gputest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// Watched returns a context of an emulator whose calls of one function are
// shown to see before they are made: for what reaches the driver and does not
// come back.
func Watched(t testing.TB, f cu.Function, see func(a loader.Args)) *driver.Context {
	t.Helper()
	return Context(t, Driver(t, watched{emulator.New(emulator.Config{}), f.Symbol(), see}))
}

type watched struct {
	loader.Library
	symbol string
	see    func(a loader.Args)
}

// Lookup puts see before the function that is watched.
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
