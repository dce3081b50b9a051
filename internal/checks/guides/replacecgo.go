package guides

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// [replace-driver]

// binding is the driver bound to a context. Every call makes the context current.
type binding struct {
	*driver.Driver
	ctx driver.CUcontext
}

func newBinding(d *driver.Driver) (*binding, error) {
	var dev cu.CUdevice
	if err := d.CuDeviceGet(&dev, 0); err != nil {
		return nil, err
	}
	var ctx driver.CUcontext
	if err := d.CuCtxCreate_v3020(&ctx, 0, dev); err != nil {
		return nil, err
	}
	return &binding{d.Bound(ctx), ctx}, nil
}

// saxpy computes y += a * x for n numbers on the device.
func (b *binding) saxpy(ptx []byte, n uint32, a float32, x, y driver.CUdeviceptr) error {
	var module cu.CUmodule
	text := loader.CString(string(ptx)) // the driver needs the zero byte at the end
	if err := b.CuModuleLoadData(&module, unsafe.Pointer(text)); err != nil {
		return err
	}
	var f cu.CUfunction
	if err := b.CuModuleGetFunction(&f, module, loader.CString("saxpy")); err != nil {
		return err
	}
	params := []unsafe.Pointer{unsafe.Pointer(&x), unsafe.Pointer(&y), unsafe.Pointer(&a), unsafe.Pointer(&n)}
	launch := b.CuLaunchKernel(f, (n+127)/128, 1, 1, 128, 1, 1, 0, 0, &params[0], nil)
	return errors.Join(launch, b.CuCtxSynchronize(), b.CuModuleUnload(module))
}

func (b *binding) Close() error { return b.CuCtxDestroy(b.ctx) }

// [end]

// [replace-library]

// curandFunctions holds the cuRAND functions that the program calls, with the parameters of the C
// functions.
type curandFunctions struct {
	CurandCreateGenerator              func(g *uintptr, kind int32) int32
	CurandSetPseudoRandomGeneratorSeed func(g uintptr, seed uint64) int32
	CurandGenerateNormal               func(g uintptr, out driver.CUdeviceptr, n uint64, mean, stddev float32) int32
	CurandDestroyGenerator             func(g uintptr) int32
}

// curand names the library files, newest first. On Windows, the names are patterns.
var curand = loader.Toolkit{
	Variable: "PURECUDA_CURAND",
	Linux:    []string{"libcurand.so.10"},
	Windows:  []string{"curand64_10.dll"},
}

// generator generates random numbers on the device.
type generator struct {
	curandFunctions
	handle uintptr
}

// newGenerator creates a generator in the context that d is bound to.
func newGenerator(lib loader.Library, d *driver.Driver, seed uint64) (*generator, error) {
	g := new(generator)
	if err := loader.LookupAll(lib, d.Scope(), &g.curandFunctions); err != nil {
		return nil, err
	}
	const pseudoDefault = 100 // CURAND_RNG_PSEUDO_DEFAULT
	if err := status("curandCreateGenerator", g.CurandCreateGenerator(&g.handle, pseudoDefault)); err != nil {
		return nil, err
	}
	return g, status("curandSetPseudoRandomGeneratorSeed", g.CurandSetPseudoRandomGeneratorSeed(g.handle, seed))
}

// normal fills device memory with normally distributed numbers.
func (g *generator) normal(out driver.CUdeviceptr, n int, mean, stddev float32) error {
	return status("curandGenerateNormal", g.CurandGenerateNormal(g.handle, out, uint64(n), mean, stddev))
}

func (g *generator) Close() error {
	return status("curandDestroyGenerator", g.CurandDestroyGenerator(g.handle))
}

func status(function string, code int32) error {
	if code != 0 {
		return fmt.Errorf("%s: status %d", function, code)
	}
	return nil
}

// [end]

// [replace-code]

// codeOf returns the code that the C function would have returned.
func codeOf(err error) driver.CUresult {
	var code driver.CUresult // CUDA_SUCCESS
	errors.As(err, &code)
	return code
}

// [end]
