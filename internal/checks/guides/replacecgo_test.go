package guides

import (
	"errors"
	"math"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func TestABindingOnTheRawFunctions(t *testing.T) {
	gputest.Each(t, func(t *testing.T, ctx *driver.Context) {
		c := kept(t, must(newBinding(ctx.Driver()))(t))
		const n = 1000
		var x, y driver.CUdeviceptr
		for _, p := range []*driver.CUdeviceptr{&x, &y} {
			ok(t, c.CuMemAlloc(p, 4*n))
			t.Cleanup(func() { ok(t, c.CuMemFree(*p)) })
		}
		in := filled(n, 3)
		ok(t, c.CuMemcpyHtoD(x, unsafe.Pointer(&in[0]), 4*n))
		ok(t, c.CuMemsetD32(y, math.Float32bits(1), n))
		ok(t, c.saxpy(saxpyPTX, n, 2, x, y))
		out := make([]float32, n)
		ok(t, c.CuMemcpyDtoH(unsafe.Pointer(&out[0]), y, 4*n))
		ok(t, all(out, 7))
		if code := codeOf(c.CuMemcpyDtoH(nil, 1, 4)); code == driver.CUDA_SUCCESS {
			t.Error("a copy from a wrong address succeeds")
		}
		if code := codeOf(nil); code != driver.CUDA_SUCCESS {
			t.Errorf("no error has the code %v", code)
		}
	})
}

func TestRandomNumbersOfALibrary(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, ctx *driver.Context) {
		normals(t, ctx, fakeCURAND{ctx.Driver()})
	})
	gputest.OnGPU(t, func(t *testing.T, ctx *driver.Context) {
		lib, err := loader.OpenToolkit(curand, nil)
		if err != nil {
			t.Skipf("cuRAND is not installed: %v", err)
		}
		normals(t, ctx, lib)
	})
}

func normals(t *testing.T, ctx *driver.Context, lib loader.Library) {
	t.Helper()
	const n, mean, stddev = 1 << 16, -3, 0.5
	g := kept(t, must(newGenerator(lib, ctx.Driver(), 42))(t))
	x := kept(t, must(driver.Alloc[float32](ctx, n))(t))
	ok(t, g.normal(x.Ptr(), n, mean, stddev))
	var sum, squares float64
	for _, v := range contents(t, x) {
		sum += float64(v)
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	if got := sum / n; math.Abs(got-mean) > 0.02 {
		t.Errorf("the mean is %v, want %v", got, mean)
	}
	if got := math.Sqrt(squares / n); math.Abs(got-stddev) > 0.02 {
		t.Errorf("the standard deviation is %v, want %v", got, stddev)
	}
}

// fakeCURAND implements the functions that the guide calls. Its numbers are the mean plus or
// minus the standard deviation.
type fakeCURAND struct{ d *driver.Driver }

func (fakeCURAND) Name() string { return "a stand-in for cuRAND" }
func (fakeCURAND) Close() error { return nil }

func (f fakeCURAND) Lookup(symbol string) (loader.Proc, error) {
	fn, found := map[string]loader.GoFunc{
		"curandCreateGenerator":              func(a loader.Args) uintptr { *(*uintptr)(a.Ptr(0)) = 7; return 0 },
		"curandSetPseudoRandomGeneratorSeed": func(a loader.Args) uintptr { return a.Word(0) - 7 + a.Word(1) - 42 },
		"curandDestroyGenerator":             func(a loader.Args) uintptr { return a.Word(0) - 7 },
		"curandGenerateNormal": func(a loader.Args) uintptr {
			v := make([]float32, a.Word(2))
			for i := range v {
				v[i] = a.Float32(3) + a.Float32(4)*float32(1-2*(i%2))
			}
			if err := f.d.CuMemcpyHtoD(driver.CUdeviceptr(a.Word(1)), unsafe.Pointer(&v[0]), uintptr(4*len(v))); err != nil {
				return 1
			}
			return 0
		},
	}[symbol]
	if !found {
		return loader.Proc{}, errors.Join(errors.New(symbol), loader.ErrSymbolNotFound)
	}
	return loader.FuncProc(fn), nil
}
