//go:build calltest

package calltest

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/purecuda/cuda/loader"
)

// library opens the stand-in in the same way that a program opens a library that it ships.
func library(t *testing.T) loader.Library {
	t.Helper()
	path := os.Getenv(loader.PathVariable)
	if path == "" {
		t.Fatalf("%s does not name the library made of testdata/driver.c", loader.PathVariable)
	}
	lib, err := loader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	})
	return lib
}

// functions lists the stand-in's functions that are not part of the driver API.
type functions struct {
	Mixed func(a int32, b float32, c int64, d float64, e int8, f float32, g uint16, h float64, i uintptr, j float32, k uint32, l float64,
		m int64, n float32, o float64, p float32, q float64, r int32, s float32) float64
	HalfOf func(x float32) float32 `symbol:"half_of"`
	Twice  func(x float64) float64
	Ratio  func(a, b int32) float32
	IsMore func(a, b float32) bool `symbol:"is_more"`
	NameOf func(i int32) string    `symbol:"name_of"`
	Length func(s string) int8
	After  func(fn uintptr, data unsafe.Pointer, x float64) float64
	Absent func(int32) `symbol:"absent,optional"`
}

func lookupAll(t *testing.T, s *loader.Scope) functions {
	t.Helper()
	var f functions
	if err := loader.LookupAll(library(t), s, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWordsAndFloatsArriveInOrder(t *testing.T) {
	f := lookupAll(t, nil)
	const huge = math.MaxUint32
	got := f.Mixed(-1, 2.5, -3, 4.25, -5, 6.5, 7, 8.125, 9, 10.5, huge, 12.5, -13, 14.5, 15.25, 16.5, 17.75, -18, 19.5)
	want := -1 + 2*2.5 - 3*3 + 4*4.25 - 5*5 + 6*6.5 + 7*7 + 8*8.125 + 9*9 + 10*10.5 + 11.0*huge + 12*12.5 -
		13*13 + 14*14.5 + 15*15.25 + 16*16.5 + 17*17.75 - 18*18 + 19*19.5
	if got != want {
		t.Errorf("C computes %v, want %v", got, want)
	}
	// Also set each argument on its own, so that two errors cannot cancel out.
	if got := f.Mixed(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0); got != 17 {
		t.Errorf("argument 17 alone: %v", got)
	}
	if got := f.Mixed(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0); got != 18 {
		t.Errorf("argument 18 alone: %v", got)
	}
	if got := f.Mixed(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1); got != 19 {
		t.Errorf("argument 19 alone: %v", got)
	}
}

func TestFloatResultsComeBack(t *testing.T) {
	f := lookupAll(t, nil)
	if got := f.HalfOf(-3.5); got != -1.75 {
		t.Errorf("half_of(-3.5) = %v", got)
	}
	if got := f.Twice(1e300); got != 2e300 {
		t.Errorf("twice(1e300) = %v", got)
	}
	if got := f.Ratio(7, -2); got != -3.5 {
		t.Errorf("ratio(7, -2) = %v", got)
	}
	if !f.IsMore(2, 1) || f.IsMore(1, 2) {
		t.Error("is_more compares something else")
	}
}

func TestStringsOfCAndOfGo(t *testing.T) {
	f := lookupAll(t, nil)
	if a, b, c := f.NameOf(1), f.NameOf(0), f.NameOf(-1); a != "one" || b != "" || c != "" {
		t.Errorf("name_of gives %q, %q, %q", a, b, c)
	}
	if got := f.Length(strings.Repeat("x", 100)); got != -100 {
		t.Errorf("length = %d", got)
	}
	if f.Absent != nil {
		t.Error("a function that is not there is not nil")
	}
}

func TestAFunctionOfATableCallsBack(t *testing.T) {
	f := lookupAll(t, nil)
	var data [2]int
	fn := loader.NewCallback(func(userData uintptr) {
		grow(64)
		runtime.GC()
		if userData != uintptr(unsafe.Pointer(&data)) {
			t.Error("the callback got another pointer")
		}
		data[1]++
	})
	done := make(chan float64)
	go func() { done <- f.After(fn, unsafe.Pointer(&data), 0.5) }() // a new goroutine has a small stack
	if got := <-done; got != 1.5 || data[1] != 1 {
		t.Errorf("result %v, %d calls back", got, data[1])
	}
}

// The scope's calls must run before the function, and the mode must be restored after it. For C
// functions, one native call makes all of them.
func TestFloatsUnderAScope(t *testing.T) {
	for _, native := range []bool{true, false} {
		var log []string
		step := func(name string) *loader.Proc {
			p := loader.FuncProc(func(loader.Args) uintptr {
				log = append(log, name)
				return 0
			})
			if native {
				p = loader.AddrProc(purego.NewCallback(func(uintptr) uintptr {
					log = append(log, name)
					return 0
				}))
			}
			return &p
		}
		f := lookupAll(t, loader.NewScope(step("get"), step("set"), 1, step("exchange")))
		if got := f.Twice(4); got != 8 {
			t.Errorf("native %v: twice(4) = %v", native, got)
		}
		if got := strings.Join(log, " "); got != "get set exchange exchange" {
			t.Errorf("native %v: calls of the scope: %s", native, got)
		}
	}
}

func TestASymbolThatIsNotThere(t *testing.T) {
	var f struct {
		Twice  func(float64) float64
		Thrice func(float64) float64
	}
	err := loader.LookupAll(library(t), nil, &f)
	if !errors.Is(err, loader.ErrSymbolNotFound) || !strings.Contains(err.Error(), "Thrice") {
		t.Errorf("error %v", err)
	}
	if f.Twice == nil || f.Twice(1) != 2 {
		t.Error("the function that is there was not set")
	}
}
