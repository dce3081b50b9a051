package main

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// The names of the library files. cuBLAS needs cuBLASLt, which is in the same directory.
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

// openCUBLAS opens the newest cuBLAS that the driver supports.
func openCUBLAS(c *driver.Context) (loader.Library, error) {
	major := c.Driver().Version() / 1000
	accept := func(l *loader.DynamicLibrary) error {
		var version struct {
			CublasGetProperty func(property int32, value *int32) int32
		}
		if err := loader.LookupAll(l, nil, &version); err != nil {
			return err
		}
		var v int32 // if this version lacks the property, v stays 0, which is accepted
		version.CublasGetProperty(majorVersion, &v)
		if int(v) > major {
			return fmt.Errorf("cuBLAS %d needs a driver for CUDA %d or newer", v, v)
		}
		return nil
	}
	// cuBLAS looks for cuBLASLt among the libraries already open in the process. The error
	// is ignored: if cuBLASLt is missing, opening cuBLAS fails.
	_, _ = loader.OpenToolkit(cublasLt, nil)
	return loader.OpenToolkit(cublas, accept)
}

// majorVersion is MAJOR_VERSION of library_types.h.
const majorVersion = 0

// functions holds the cuBLAS functions that the example calls, with the parameters of the C
// functions. Pointers to device memory are addresses.
type functions struct {
	CublasCreate          func(handle *uintptr) int32                                      `symbol:"cublasCreate_v2"`
	CublasDestroy         func(handle uintptr) int32                                       `symbol:"cublasDestroy_v2"`
	CublasSetStream       func(handle uintptr, stream driver.CUstream) int32               `symbol:"cublasSetStream_v2"`
	CublasSetWorkspace    func(handle uintptr, at driver.CUdeviceptr, bytes uintptr) int32 `symbol:"cublasSetWorkspace_v2"`
	CublasGetStatusString func(status int32) string
	CublasSgemm           func(handle uintptr, opA, opB, m, n, k int32, alpha *float32, a driver.CUdeviceptr, lda int32,
		b driver.CUdeviceptr, ldb int32, beta *float32, c driver.CUdeviceptr, ldc int32) int32 `symbol:"cublasSgemm_v2"`
	CublasGemmEx func(handle uintptr, opA, opB, m, n, k int32, alpha *float32, a driver.CUdeviceptr, typeA, lda int32,
		b driver.CUdeviceptr, typeB, ldb int32, beta *float32, c driver.CUdeviceptr, typeC, ldc, compute, algorithm int32) int32
}

// blas is a cuBLAS handle of one context. It enqueues its work on the stream that was last passed
// to use. It is not safe for concurrent use.
type blas struct {
	functions
	handle uintptr
}

func newBLAS(lib loader.Library, c *driver.Context) (*blas, error) {
	b := new(blas)
	// The driver's Scope makes the context current during each call.
	if err := loader.LookupAll(lib, c.Driver().Scope(), &b.functions); err != nil {
		return nil, err
	}
	return b, b.failure("cublasCreate", b.CublasCreate(&b.handle))
}

// Close destroys the handle.
func (b *blas) Close() error { return b.failure("cublasDestroy", b.CublasDestroy(b.handle)) }

// use sets the stream before the workspace, because setting a stream resets the workspace. Without
// a workspace, cuBLAS might allocate memory while a capture is open.
func (b *blas) use(s *driver.Stream, workspace *driver.Buffer[byte]) error {
	return errors.Join(
		b.failure("cublasSetStream", b.CublasSetStream(b.handle, s.Raw())),
		b.failure("cublasSetWorkspace", b.CublasSetWorkspace(b.handle, workspace.Ptr(), workspace.Bytes())))
}

// shape describes a product of row-major matrices: C (m×n) = A (m×k) × B (k×n).
type shape struct{ m, n, k int }

// cuBLAS stores matrices by columns, so it sees the transposes of the program's matrices.
// Therefore the calls compute Cᵀ = Bᵀ × Aᵀ.
const noTranspose = 0 // CUBLAS_OP_N

// The factors of the product and of the old value of C. cuBLAS reads them during its calls.
var one, zero float32 = 1, 0

// product32 computes C = A × B in single precision.
func (b *blas) product32(s shape, c, a, x *driver.Buffer[float32]) error {
	m, n, k := int32(s.m), int32(s.n), int32(s.k)
	return b.failure("cublasSgemm", b.CublasSgemm(b.handle, noTranspose, noTranspose, n, m, k,
		&one, x.Ptr(), n, a.Ptr(), k, &zero, c.Ptr(), n))
}

// Constants of cublas_api.h and library_types.h.
const (
	float32Type = 0  // CUDA_R_32F
	float16Type = 2  // CUDA_R_16F
	compute32   = 68 // CUBLAS_COMPUTE_32F

	defaultAlgorithm = -1 // CUBLAS_GEMM_DEFAULT
)

// half is a half-precision number.
type half uint16

// product16 computes C = A × B from half-precision matrices, with sums in single precision.
func (b *blas) product16(s shape, c *driver.Buffer[float32], a, x *driver.Buffer[half]) error {
	m, n, k := int32(s.m), int32(s.n), int32(s.k)
	return b.failure("cublasGemmEx", b.CublasGemmEx(b.handle, noTranspose, noTranspose, n, m, k,
		&one, x.Ptr(), float16Type, n, a.Ptr(), float16Type, k,
		&zero, c.Ptr(), float32Type, n, compute32, defaultAlgorithm))
}

// failure returns an error unless the status is success.
func (b *blas) failure(name string, status int32) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s (%d)", name, b.CublasGetStatusString(status), status)
}
