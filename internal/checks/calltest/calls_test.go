//go:build calltest

package calltest

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// open opens the stand-in named by loader.PathVariable in the same way that a program opens the
// driver.
func open(t *testing.T) *driver.Driver {
	t.Helper()
	if os.Getenv(loader.PathVariable) == "" {
		t.Fatalf("%s does not name the library made of testdata/driver.c", loader.PathVariable)
	}
	d, err := driver.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func code(err error) int {
	var e *driver.Error
	if !errors.As(err, &e) {
		return 0
	}
	return int(e.Result)
}

func TestTheLibraryIsOpenedAndAskedForItsFunctions(t *testing.T) {
	d := open(t)
	if d.Version() != 13000 {
		t.Errorf("version %d", d.Version())
	}
	if got := code(d.CuCtxSynchronize()); got != 42 {
		t.Errorf("cuCtxSynchronize answers %d: not what cuGetProcAddress gave", got)
	}
	if err := d.CuCtxSetCurrent(0); !errors.Is(err, driver.ErrNotSupported) {
		t.Errorf("a function that is not there: %v", err)
	}
}

func TestElevenArgumentsArriveInC(t *testing.T) {
	d := open(t)
	for range 100 {
		n, twice := int32(21), int32(0)
		out := &twice
		params := [2]unsafe.Pointer{unsafe.Pointer(&n), unsafe.Pointer(&out)}
		if err := d.CuLaunchKernel(1<<40+1, 2, 3, 4, 5, 6, 7, 1<<31+8, 1<<41+9, &params[0], nil); err != nil {
			t.Fatal(err)
		}
		var seen [11]uint64
		if err := d.CuMemcpyDtoH(unsafe.Pointer(&seen), 0, unsafe.Sizeof(seen)); err != nil {
			t.Fatal(err)
		}
		if want := [11]uint64{1<<40 + 1, 2, 3, 4, 5, 6, 7, 1<<31 + 8, 1<<41 + 9, 1, 0}; seen != want {
			t.Fatalf("C got %x, want %x", seen, want)
		}
		if twice != 42 {
			t.Fatalf("the kernel's parameters gave %d, want 42", twice)
		}
	}
}

func TestALargeStructByValueArrivesInC(t *testing.T) {
	d := open(t)
	var h cu.CUipcMemHandle
	want := uint64(0)
	for i := range h.Reserved {
		h.Reserved[i] = byte(3*i + 200)
		want = want*31 + uint64(h.Reserved[i])
	}
	was := h
	var p driver.CUdeviceptr
	if got := code(d.CuIpcOpenMemHandle(&p, h, 55)); got != 55 || uint64(p) != want {
		t.Errorf("flags %d, digest %x; want 55, %x", got, uint64(p), want)
	}
	if h != was {
		t.Error("C changed the caller's struct")
	}
}

func TestASmallStructByValueArrivesInC(t *testing.T) {
	where := cu.CUmemLocation{Type: 4, Id: 5}
	if got := code(open(t).CuMemPrefetchAsync(1, 2, where, 6, 7)); got != 765421 {
		t.Errorf("cuMemPrefetchAsync got %d, want 765421", got)
	}
}

// grow uses so much stack that the runtime must move the goroutine's stack.
//
//go:noinline
func grow(depth int) byte {
	var pad [1 << 10]byte
	if depth > 0 {
		pad[depth] = grow(depth - 1)
	}
	return pad[depth/2]
}

func TestCCallsBackBeforeItReturns(t *testing.T) {
	d := open(t)
	shared := purego.NewCallback(func(block int32) uintptr {
		grow(64)
		runtime.GC()
		return uintptr(block) * 100
	})
	done := make(chan [2]int32)
	go func() { // a new goroutine has a small stack
		var grid, block int32
		if err := d.CuOccupancyMaxPotentialBlockSize(&grid, &block, 1, cu.CUoccupancyB2DSize(shared), 20, 3); err != nil {
			t.Error(err)
		}
		done <- [2]int32{grid, block}
	}()
	if got := <-done; got != [2]int32{321, 3} {
		t.Errorf("C stored %v, want [321 3]", got)
	}
}

var called = make(chan int)

// tokens provides the addresses that are passed to callbacks.
var tokens [64]byte

func TestThreadsOfCCallGo(t *testing.T) {
	d := open(t)
	fn := cu.CUhostFn(loader.NewCallback(func(data uintptr) {
		grow(64)
		called <- int(data - uintptr(unsafe.Pointer(&tokens)))
	}))
	for i := range tokens {
		if err := d.CuLaunchHostFunc(0, fn, unsafe.Pointer(&tokens[i])); err != nil {
			t.Fatal(err)
		}
	}
	var seen [len(tokens)]int
	limit := time.After(time.Minute)
	for range tokens {
		select {
		case i := <-called:
			seen[i]++
		case <-limit:
			t.Fatalf("calls that came: %v", seen)
		}
	}
	for i, n := range seen {
		if n != 1 {
			t.Errorf("callback %d came %d times", i, n)
		}
	}
}
