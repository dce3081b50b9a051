//go:build cgo

// Command besidecgo uses CUDA both from C, through cgo, and from this module, in one process with
// one primary context. A graph of this module changes memory that C allocated, and C checks the
// result. With the argument "emulator", this module uses an emulated device, and C only queries the
// number of devices of the system's driver, if there is one.
package main

// #cgo LDFLAGS: -ldl
// #include <dlfcn.h>
// #include <stdlib.h>
//
// static void *lib;
// static void *context;
// static int device;
//
// static int missing(void) {
// 	lib = dlopen("libcuda.so.1", RTLD_NOW);
// 	return lib == NULL;
// }
//
// static int begin(void) {
// 	int (*init)(unsigned) = (int (*)(unsigned))dlsym(lib, "cuInit");
// 	int (*get)(int *, int) = (int (*)(int *, int))dlsym(lib, "cuDeviceGet");
// 	int (*retain)(void **, int) = (int (*)(void **, int))dlsym(lib, "cuDevicePrimaryCtxRetain");
// 	int r = init(0);
// 	if (r == 0) r = get(&device, 0);
// 	if (r == 0) r = retain(&context, device);
// 	return r;
// }
//
// static int current(void) {
// 	int (*set)(void *) = (int (*)(void *))dlsym(lib, "cuCtxSetCurrent");
// 	return set(context);
// }
//
// static int fill(unsigned long long *p, int n, unsigned v) {
// 	int (*alloc)(unsigned long long *, size_t) = (int (*)(unsigned long long *, size_t))dlsym(lib, "cuMemAlloc_v2");
// 	int (*set)(unsigned long long, unsigned, size_t) = (int (*)(unsigned long long, unsigned, size_t))dlsym(lib, "cuMemsetD32_v2");
// 	int (*synchronize)(void) = (int (*)(void))dlsym(lib, "cuCtxSynchronize");
// 	int r = current();
// 	if (r == 0) r = alloc(p, 4 * (size_t)n);
// 	if (r == 0) r = set(*p, v, n);
// 	if (r == 0) r = synchronize();
// 	return r;
// }
//
// static int take(unsigned *to, unsigned long long p, int n) {
// 	int (*copy)(void *, unsigned long long, size_t) = (int (*)(void *, unsigned long long, size_t))dlsym(lib, "cuMemcpyDtoH_v2");
// 	int (*release)(unsigned long long) = (int (*)(unsigned long long))dlsym(lib, "cuMemFree_v2");
// 	int r = current();
// 	if (r == 0) r = copy(to, p, 4 * (size_t)n);
// 	if (r == 0) r = release(p);
// 	return r;
// }
//
// static int end(void) {
// 	int (*release)(int) = (int (*)(int))dlsym(lib, "cuDevicePrimaryCtxRelease_v2");
// 	return release(device);
// }
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/tools/robust/work"
)

func main() {
	if err := run(len(os.Args) > 1); err != nil {
		fmt.Fprintln(os.Stderr, "besidecgo:", err)
		os.Exit(1)
	}
}

func run(emulated bool) error {
	if C.missing() != 0 {
		fmt.Println("besidecgo: no driver for C")
		if emulated {
			return work.Once(true)
		}
	}
	if r := C.begin(); r != 0 && !emulated {
		return fmt.Errorf("C: %w", driver.CUresult(r))
	}
	if emulated {
		fmt.Println("besidecgo: C has a driver, and this module an emulated one")
		return work.Once(true)
	}
	d, err := work.Open(false)
	if err != nil {
		return err
	}
	return errors.Join(share(d), many(d), d.Close(), check("release", C.end()))
}

const words = 5000

// share makes C allocate and fill memory, changes the memory with a graph of this module,
// and checks the result in C.
func share(d *work.Device) error {
	runtime.LockOSThread() // all calls of the C code must be on one thread
	defer runtime.UnlockOSThread()
	var p C.ulonglong
	if err := check("fill", C.fill(&p, words, 2)); err != nil {
		return err
	}
	if err := d.Add(uint64(p), words, 4, 10); err != nil {
		return err
	}
	got := make([]uint32, words)
	err := check("take", C.take((*C.uint)(unsafe.Pointer(unsafe.SliceData(got))), p, words))
	return errors.Join(err, work.Check(got, 42))
}

// many runs share on many goroutines concurrently.
func many(d *work.Device) error {
	errs := make(chan error, 16)
	for range cap(errs) {
		go func() { errs <- errors.Join(share(d), d.Selftest()) }()
	}
	var err error
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	if err == nil {
		fmt.Println("besidecgo: C and this module share memory")
	}
	return err
}

func check(what string, r C.int) error {
	if r == 0 {
		return nil
	}
	return fmt.Errorf("C: %s: %w", what, driver.CUresult(r))
}
