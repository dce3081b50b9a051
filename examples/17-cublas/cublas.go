package main

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// The libraries as they are called. cuBLAS needs cuBLASLt, which is beside it.
var (
	cublasLt = loader.Toolkit{
		Linux:   []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
		Windows: []string{"cublasLt64_13.dll", "cublasLt64_12.dll", "cublasLt64_11.dll"},
	}
	cublas = loader.Toolkit{
		Variable: "PURECUDA_CUBLAS",
		Linux:    []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"},
		Windows:  []string{"cublas64_13.dll", "cublas64_12.dll", "cublas64_11.dll"},
	}
)

// openCUBLAS opens the newest cuBLAS that the driver can run.
func openCUBLAS(c *driver.Context) (loader.Library, error) {
	major := c.Driver().Version() / 1000
	accept := func(l *loader.DynamicLibrary) error {
		property, err := l.Lookup("cublasGetProperty")
		if err != nil {
			return err
		}
		if v := majorVersion(&property); v > major {
			return fmt.Errorf("cuBLAS %d needs a driver for CUDA %d or newer", v, v)
		}
		return nil
	}
	// It is left open: cuBLAS finds it because it is in the process then. Without
	// it, opening cuBLAS says what is missing.
	_, _ = loader.OpenToolkit(cublasLt, nil)
	return loader.OpenToolkit(cublas, accept)
}

func majorVersion(property *loader.Proc) int {
	v := new(int32)
	block := struct {
		call loader.Call
		kind uintptr // MAJOR_VERSION is 0
		v    *int32
		_    [6]uintptr
	}{call: loader.Call{Proc: property, N: 2}, v: v}
	loader.Invoke(&block.call)
	return int(*v)
}

// blas is a handle of cuBLAS: for one context, and used by one goroutine at a
// time. Its work goes to the stream that it was given.
type blas struct {
	create, destroy, setStream, setWorkspace, sgemm, gemmEx, statusText loader.Proc

	handle uintptr
	scope  *loader.Scope // each call runs with the context current
}

func newBLAS(lib loader.Library, c *driver.Context) (*blas, error) {
	b := &blas{scope: c.Driver().Scope()}
	for name, proc := range map[string]*loader.Proc{
		"cublasCreate_v2": &b.create, "cublasDestroy_v2": &b.destroy,
		"cublasSetStream_v2": &b.setStream, "cublasSetWorkspace_v2": &b.setWorkspace,
		"cublasSgemm_v2": &b.sgemm, "cublasGemmEx": &b.gemmEx, "cublasGetStatusString": &b.statusText,
	} {
		var err error
		if *proc, err = lib.Lookup(name); err != nil {
			return nil, err
		}
	}
	handle := new(uintptr)
	block := struct {
		call   loader.Call
		handle *uintptr
		_      [7]uintptr
	}{call: loader.Call{Proc: &b.create, Scope: b.scope, N: 1}, handle: handle}
	if err := b.failure("cublasCreate", loader.Invoke(&block.call)); err != nil {
		return nil, err
	}
	b.handle = *handle
	return b, nil
}

// Close gives the handle back.
func (b *blas) Close() error { return b.call("cublasDestroy", &b.destroy, b.handle) }

// use has the work go to a stream. The workspace is set after it, because
// setting a stream takes it away; without one, cuBLAS would use memory of its
// own, which it may allocate while a capture is open.
func (b *blas) use(s *driver.Stream, workspace *driver.Buffer[byte]) error {
	return errors.Join(
		b.call("cublasSetStream", &b.setStream, b.handle, uintptr(s.Raw())),
		b.call("cublasSetWorkspace", &b.setWorkspace, b.handle, uintptr(workspace.Ptr()), workspace.Bytes()))
}

// call makes a call whose arguments are words only.
func (b *blas) call(name string, proc *loader.Proc, words ...uintptr) error {
	block := struct {
		call  loader.Call
		words [8]uintptr
	}{call: loader.Call{Proc: proc, Scope: b.scope, N: uintptr(len(words))}}
	copy(block.words[:], words)
	return b.failure(name, loader.Invoke(&block.call))
}

// shape is that of a product of row-major matrices: C (m×n) = A (m×k) × B (k×n).
type shape struct{ m, n, k int }

// cuBLAS's matrices are column-major, that is, the transposes of ours: it is asked
// for Cᵀ = Bᵀ × Aᵀ.
const noTranspose = 0 // CUBLAS_OP_N

// product32 is C = A × B in single precision.
func (b *blas) product32(s shape, c, a, x *driver.Buffer[float32]) error {
	one, zero := new(float32), new(float32)
	*one = 1
	block := struct {
		call       loader.Call
		handle     uintptr
		opA, opB   uintptr
		m, n, k    uintptr
		alpha      *float32
		a, strideA uintptr
		b, strideB uintptr
		beta       *float32
		c, strideC uintptr
	}{
		loader.Call{Proc: &b.sgemm, Scope: b.scope, N: 14}, b.handle, noTranspose, noTranspose,
		uintptr(s.n), uintptr(s.m), uintptr(s.k), one,
		uintptr(x.Ptr()), uintptr(s.n), uintptr(a.Ptr()), uintptr(s.k), zero,
		uintptr(c.Ptr()), uintptr(s.n),
	}
	return b.failure("cublasSgemm", loader.Invoke(&block.call))
}

// Constants of cublas_api.h and library_types.h.
const (
	float32Type = 0  // CUDA_R_32F
	float16Type = 2  // CUDA_R_16F
	compute32   = 68 // CUBLAS_COMPUTE_32F
)

var defaultAlgorithm = int32(-1) // CUBLAS_GEMM_DEFAULT

// half is a number in half precision.
type half uint16

// product16 is C = A × B of half-precision matrices, summed in single precision.
func (b *blas) product16(s shape, c *driver.Buffer[float32], a, x *driver.Buffer[half]) error {
	one, zero := new(float32), new(float32)
	*one = 1
	block := struct {
		call              loader.Call
		handle            uintptr
		opA, opB          uintptr
		m, n, k           uintptr
		alpha             *float32
		a, typeA, strideA uintptr
		b, typeB, strideB uintptr
		beta              *float32
		c, typeC, strideC uintptr
		compute           uintptr
		algorithm         uintptr
	}{
		loader.Call{Proc: &b.gemmEx, Scope: b.scope, N: 19}, b.handle, noTranspose, noTranspose,
		uintptr(s.n), uintptr(s.m), uintptr(s.k), one,
		uintptr(x.Ptr()), float16Type, uintptr(s.n), uintptr(a.Ptr()), float16Type, uintptr(s.k), zero,
		uintptr(c.Ptr()), float32Type, uintptr(s.n), compute32, uintptr(uint32(defaultAlgorithm)),
	}
	return b.failure("cublasGemmEx", loader.Invoke(&block.call))
}

// failure is the error of a status other than success.
func (b *blas) failure(name string, ret uintptr) error {
	status := int32(uint32(ret))
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s (%d)", name, b.text(status), status)
}

// text asks cuBLAS for its words.
func (b *blas) text(status int32) string {
	block := struct {
		call   loader.Call
		status uintptr
		_      [7]uintptr
	}{call: loader.Call{Proc: &b.statusText, N: 1}, status: uintptr(uint32(status))}
	loader.Invoke(&block.call)
	p := *(**byte)(unsafe.Pointer(&block.call.Ret)) // memory of the library's
	if p == nil {
		return "unknown status"
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
