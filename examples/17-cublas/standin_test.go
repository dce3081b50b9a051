package main

import (
	"os"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/loader"
)

// standIn implements the cuBLAS functions that the example uses, with its own kernels. Its
// functions have the parameters of the C functions and enqueue their work on the given
// stream.
type standIn struct {
	driver         *driver.Driver
	gemm32, gemm16 *driver.Kernel
	stream         driver.CUstream
	workspace      uintptr
	handles        int
	failed         error // reason why a launch failed, which the status code cannot express
}

func newStandIn(d *demo.Demo) (*standIn, error) {
	text, err := os.ReadFile("testdata/standin.ptx")
	if err != nil {
		return nil, err
	}
	s := &standIn{driver: d.Context.Driver()}
	return s, d.Kernels(text, map[string]**driver.Kernel{"gemm32": &s.gemm32, "gemm16": &s.gemm16})
}

func (*standIn) Name() string { return "a stand-in" }

func (*standIn) Close() error { return nil }

const (
	statusOK             = 0
	statusNotInitialized = 1
	statusInvalidValue   = 7
	standInHandle        = 0x1234
)

var statusText = []byte("a status of the stand-in\x00")

func (s *standIn) Lookup(symbol string) (loader.Proc, error) {
	fn := map[string]func(loader.Args) uintptr{
		"cublasCreate_v2": func(a loader.Args) uintptr {
			s.handles++
			*(*uintptr)(a.Ptr(0)) = standInHandle
			return statusOK
		},
		"cublasDestroy_v2": s.checked(func(loader.Args) uintptr { s.handles--; return statusOK }),
		"cublasSetStream_v2": s.checked(func(a loader.Args) uintptr {
			s.stream, s.workspace = driver.CUstream(a.Word(1)), 0
			return statusOK
		}),
		"cublasSetWorkspace_v2": s.checked(func(a loader.Args) uintptr { s.workspace = a.Word(2); return statusOK }),
		"cublasSgemm_v2":        s.checked(s.single),
		"cublasGemmEx":          s.checked(s.half),
		"cublasGetStatusString": func(loader.Args) uintptr { return uintptr(unsafe.Pointer(&statusText[0])) },
	}[symbol]
	if fn == nil {
		return loader.Proc{}, loader.ErrSymbolNotFound
	}
	return loader.FuncProc(fn), nil
}

// checked wraps fn so that it rejects a wrong handle.
func (s *standIn) checked(fn func(loader.Args) uintptr) func(loader.Args) uintptr {
	return func(a loader.Args) uintptr {
		if a.Word(0) != standInHandle {
			return statusNotInitialized
		}
		return fn(a)
	}
}

func (s *standIn) single(a loader.Args) uintptr {
	if a.Len() != 14 || !unscaled(a, 6, 11) {
		return statusInvalidValue
	}
	return s.launch(s.gemm32, a, 12, 7, 9, 8, 10, 13)
}

func (s *standIn) half(a loader.Args) uintptr {
	if a.Len() != 19 || !unscaled(a, 6, 13) || a.Word(8) != float16Type || a.Word(11) != float16Type ||
		a.Word(15) != float32Type || a.Word(17) != compute32 || a.Int32(18) != -1 {
		return statusInvalidValue
	}
	return s.launch(s.gemm16, a, 14, 7, 10, 9, 12, 16)
}

// unscaled reports whether alpha is 1, beta is 0 and no matrix is transposed.
func unscaled(a loader.Args, alpha, beta int) bool {
	return a.Word(1) == noTranspose && a.Word(2) == noTranspose && *(*float32)(a.Ptr(alpha)) == 1 && *(*float32)(a.Ptr(beta)) == 0
}

// launch launches a kernel. The integer parameters are the positions of the kernel's arguments in
// the cuBLAS call.
func (s *standIn) launch(k *driver.Kernel, a loader.Args, c, x, y, lda, ldb, ldc int) uintptr {
	if s.workspace == 0 {
		return statusInvalidValue
	}
	m, n := a.Uint32(3), a.Uint32(4)
	pointers := [3]uint64{a.Uint64(c), a.Uint64(x), a.Uint64(y)}
	numbers := [6]uint32{m, n, a.Uint32(5), a.Uint32(lda), a.Uint32(ldb), a.Uint32(ldc)}
	var params []unsafe.Pointer
	for i := range pointers {
		params = append(params, unsafe.Pointer(&pointers[i]))
	}
	for i := range numbers {
		params = append(params, unsafe.Pointer(&numbers[i]))
	}
	if err := s.driver.CuLaunchKernel(k.Raw(), (m*n+127)/128, 1, 1, 128, 1, 1, 0, s.stream, &params[0], nil); err != nil {
		s.failed = err
		return statusInvalidValue
	}
	return statusOK
}
