package loader_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

type goLibrary map[string]loader.GoFunc

func (goLibrary) Name() string { return "of Go functions" }
func (goLibrary) Close() error { return nil }
func (l goLibrary) Lookup(symbol string) (loader.Proc, error) {
	if f := l[symbol]; f != nil {
		return loader.FuncProc(f), nil
	}
	return loader.Proc{}, fmt.Errorf("%s: %w", symbol, loader.ErrSymbolNotFound)
}

func TestTableOfGoFunctions(t *testing.T) {
	lib := goLibrary{"axpy": func(a loader.Args) uintptr {
		if a.Len() != 4 {
			t.Errorf("%d words, want 4", a.Len())
		}
		*(*float64)(a.Ptr(2)) = float64(a.Float32(0)) * a.Float64(1)
		if s := loader.GoString((*byte)(a.Ptr(3))); s != "grüß" {
			t.Errorf("string %q", s)
		}
		return 7
	}}
	var f struct {
		Axpy func(a float32, x float64, y *float64, name string) uint8
		More func() `symbol:"more,optional"`
		Note string
	}
	if err := loader.LookupAll(lib, nil, &f); err != nil {
		t.Fatal(err)
	}
	var y float64
	if r := f.Axpy(1.5, -4, &y, "grüß"); r != 7 || y != -6 {
		t.Errorf("result %d, y = %v", r, y)
	}
	if f.More != nil {
		t.Error("a function that is not there is not nil")
	}
}

// C returns a bool in the low byte of a register. The values of the other bytes are undefined.
func TestBoolsAreBytes(t *testing.T) {
	for result, want := range map[uintptr]bool{0: false, 1: true, 0x101: true, 0x100: false} {
		lib := goLibrary{"is": func(loader.Args) uintptr { return result }}
		var f struct{ Is func() bool }
		if err := loader.LookupAll(lib, nil, &f); err != nil {
			t.Fatal(err)
		}
		if got := f.Is(); got != want {
			t.Errorf("%#x is %t", result, got)
		}
	}
}

// The limit for floating-point parameters must not apply to 64-bit integers.
func TestWideIntegersMayBeAnywhere(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) < 8 {
		t.Skip("64-bit integers take two words")
	}
	lib := goLibrary{"f": func(a loader.Args) uintptr { return uintptr(uint64(a.Word(23)) >> 32) }}
	var table struct {
		F func(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w int32, x uint64) int64
	}
	if err := loader.LookupAll(lib, nil, &table); err != nil {
		t.Fatal(err)
	}
	if got := table.F(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5<<32); got != 5 {
		t.Errorf("returned %d, want 5", got)
	}
}

func TestWrongTablesSayWhatIsWrong(t *testing.T) {
	lib := goLibrary{"f": func(loader.Args) uintptr { return 0 }}
	for _, c := range []struct {
		table any
		want  string
	}{
		{nil, "pass the address of a struct"},
		{struct{}{}, "pass the address of a struct"},
		{(*struct{})(nil), "pass the address of a struct"},
		{&struct{ F func([]byte) }{}, "field F: parameter 1: []uint8 has no counterpart in C; take a pointer and pass &s[0]"},
		{&struct{ F func(int32, func()) }{}, "parameter 2: func() has no counterpart"},
		{&struct{ F func(struct{ a, b int }) }{}, "has no counterpart"},
		{&struct{ F func(complex64) }{}, "has no counterpart"},
		{&struct{ F func() any }{}, "result: interface {} has no counterpart"},
		{&struct{ F func() (int32, error) }{}, "2 results"},
		{&struct{ F func(string, ...any) int32 }{}, "variadic"},
		{&struct{ f func() }{}, "field f: not exported"},
		{&struct {
			F func() `symbol:",maybe"`
		}{}, `option "maybe"`},
		{&struct{ G func() }{}, "field G: g: symbol not found"},
		{&struct {
			F func(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w int32, x float64)
		}{}, "parameter 24 is a floating-point number; only the first 23 can be"},
	} {
		err := loader.LookupAll(lib, nil, c.table)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.table, err, c.want)
		}
	}
	if err := loader.LookupAll(nil, nil, &struct{}{}); err == nil || !strings.Contains(err.Error(), "library is nil") {
		t.Errorf("no library: %v", err)
	}
}

func TestFloatsOfAFunctionOfCNeedABuildThatPassesThem(t *testing.T) {
	if loader.PassesFloats() {
		t.Skip("this build passes floating-point numbers to C")
	}
	p := loader.AddrProc(1) // never called
	block := struct {
		call  loader.Call
		words [8]uintptr
	}{call: loader.Call{Proc: &p, N: 1 + loader.FloatArg<<0}}
	if r := loader.Invoke(&block.call); r != loader.Missing {
		t.Errorf("result %#x, want Missing", r)
	}
	var f struct{ F func(float64) }
	err := loader.LookupAll(addrLibrary{}, nil, &f)
	if err == nil || !strings.Contains(err.Error(), "PassesFloats") {
		t.Errorf("error %v", err)
	}
}

type addrLibrary struct{ goLibrary }

func (addrLibrary) Lookup(string) (loader.Proc, error) { return loader.AddrProc(1), nil }

func TestStringsGoToCAndBack(t *testing.T) {
	for _, s := range []string{"", "x", "grüß", strings.Repeat("long ", 1000)} {
		p := loader.CString(s)
		if got := loader.GoString(p); got != s {
			t.Errorf("%q comes back as %q", s, got)
		}
		if end := *(*byte)(unsafe.Add(unsafe.Pointer(p), len(s))); end != 0 {
			t.Errorf("%q ends with %d", s, end)
		}
	}
	if got := loader.GoString(nil); got != "" {
		t.Errorf("nil gives %q", got)
	}
}
