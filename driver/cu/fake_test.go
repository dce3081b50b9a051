package cu_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// rawLibrary has a Go function for every symbol except those in without. All functions except
// cuDriverGetVersion call handler.
type rawLibrary struct {
	version int32
	without map[string]bool
	handler func(f cu.Function, a loader.Args) uintptr
	closed  int
}

func (l *rawLibrary) Name() string { return "test library" }

func (l *rawLibrary) Lookup(symbol string) (loader.Proc, error) {
	f, ok := cu.FunctionBySymbol(symbol)
	if !ok || l.without[symbol] {
		return loader.Proc{}, loader.ErrSymbolNotFound
	}
	if f == cu.FnCuDriverGetVersion {
		return loader.FuncProc(func(a loader.Args) uintptr {
			*(*int32)(a.Ptr(0)) = l.version
			return 0
		}), nil
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		if l.handler == nil {
			return 0
		}
		return l.handler(f, a)
	}), nil
}

func (l *rawLibrary) Close() error {
	l.closed++
	return nil
}

func rawDriver(t testing.TB, l *rawLibrary) *cu.Driver {
	t.Helper()
	if l.version == 0 {
		l.version = 13000
	}
	d, err := cu.New(l)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func rawFailing(t testing.TB, code cu.CUresult) *cu.Driver {
	return rawDriver(t, &rawLibrary{handler: func(cu.Function, loader.Args) uintptr { return uintptr(code) }})
}
