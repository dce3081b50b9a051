//go:build linux && (amd64 || arm64)

// Command besidepurego uses CUDA both from another binding, built with purego, and from this
// module, in one process with one primary context. With the argument "emulator", this module uses
// an emulated device, and the other binding calls only the C library.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/tools/robust/work"
)

// other holds the state of the other binding and the C functions that it resolved.
var other struct {
	init     func(uint32) int32
	get      func(*int32, int32) int32
	retain   func(*uintptr, int32) int32
	release  func(int32) int32
	set      func(uintptr) int32
	alloc    func(*uint64, uintptr) int32
	fill     func(uint64, uint32, uintptr) int32
	copy     func(unsafe.Pointer, uint64, uintptr) int32
	free     func(uint64) int32
	sort     func(unsafe.Pointer, uintptr, uintptr, uintptr)
	compare  uintptr
	context  uintptr
	device   int32
	compares int
}

func main() {
	if err := run(len(os.Args) > 1); err != nil {
		fmt.Fprintln(os.Stderr, "besidepurego:", err)
		os.Exit(1)
	}
	fmt.Println("besidepurego: both work")
}

func run(emulated bool) error {
	if err := callbacks(); err != nil {
		return err
	}
	if emulated {
		return errors.Join(work.Once(true), sorts())
	}
	if err := bind(); err != nil {
		return err
	}
	d, err := work.Open(false)
	if err != nil {
		return err
	}
	errs := make(chan error, 16)
	for range cap(errs) {
		go func() { errs <- errors.Join(share(d), d.Selftest()) }()
	}
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	return errors.Join(err, sorts(), d.Close(), check("release", other.release(other.device)))
}

// callbacks creates a C function from a Go function, as a binding does for the driver's callbacks.
func callbacks() error {
	lib, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW)
	if err != nil {
		return err
	}
	purego.RegisterLibFunc(&other.sort, lib, "qsort")
	other.compare = purego.NewCallback(func(a, b *int32) int32 {
		other.compares++
		return *a - *b
	})
	return sorts()
}

// sorts calls C's qsort with a comparison function written in Go, and checks the result.
func sorts() error {
	values := []int32{3, 1, 2}
	other.sort(unsafe.Pointer(unsafe.SliceData(values)), 3, 4, other.compare)
	if other.compares == 0 || values[0] != 1 || values[2] != 3 {
		return fmt.Errorf("sorted by C: %v", values)
	}
	return nil
}

func bind() error {
	lib, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW)
	if err != nil {
		return err
	}
	for name, fn := range map[string]any{
		"cuInit": &other.init, "cuDeviceGet": &other.get, "cuDevicePrimaryCtxRetain": &other.retain,
		"cuDevicePrimaryCtxRelease_v2": &other.release, "cuCtxSetCurrent": &other.set, "cuMemAlloc_v2": &other.alloc,
		"cuMemsetD32_v2": &other.fill, "cuMemcpyDtoH_v2": &other.copy, "cuMemFree_v2": &other.free,
	} {
		purego.RegisterLibFunc(fn, lib, name)
	}
	return errors.Join(check("init", other.init(0)), check("device", other.get(&other.device, 0)),
		check("retain", other.retain(&other.context, other.device)))
}

const words = 5000

// share makes both bindings use the same memory.
func share(d *work.Device) error {
	runtime.LockOSThread() // the other binding's context is current only on this thread
	defer runtime.UnlockOSThread()
	p := new(uint64)
	if err := errors.Join(check("set", other.set(other.context)), check("alloc", other.alloc(p, 4*words)),
		check("fill", other.fill(*p, 2, words))); err != nil {
		return err
	}
	if err := d.Add(*p, words, 4, 10); err != nil {
		return err
	}
	got := make([]uint32, words)
	err := errors.Join(check("copy", other.copy(unsafe.Pointer(unsafe.SliceData(got)), *p, 4*words)), check("free", other.free(*p)))
	return errors.Join(err, work.Check(got, 42))
}

func check(what string, r int32) error {
	if r == 0 {
		return nil
	}
	return fmt.Errorf("the other binding: %s: %w", what, driver.CUresult(r))
}
