package gputest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// Silent returns a context of an emulator on which one function does nothing and returns success.
// It is meant for measuring the host cost of a call without the emulator's work.
func Silent(t testing.TB, f cu.Function) *driver.Context {
	t.Helper()
	return Context(t, Driver(t, silent{emulator.New(emulator.Config{}), f.Symbol()}))
}

type silent struct {
	loader.Library
	symbol string
}

func (s silent) Lookup(symbol string) (loader.Proc, error) {
	inner, err := s.Library.Lookup(symbol)
	if err != nil || symbol != s.symbol {
		return inner, err
	}
	return loader.FuncProc(func(loader.Args) uintptr { return 0 }), nil
}
