package nvrtc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

// requireNVRTC names the environment variable that makes a test fail if NVRTC is missing.
const requireNVRTC = "PURECUDA_REQUIRE_NVRTC"

// installed returns this machine's NVRTC, or skips the test if there is none. The tests
// in internal/checks/nvidiatest use a downloaded one.
func installed(t *testing.T, c *driver.Context, opts ...nvrtc.Option) *nvrtc.Compiler {
	t.Helper()
	compiler, err := nvrtc.Open(append([]nvrtc.Option{nvrtc.UpTo(c.Driver().Version()), nvrtc.WithoutCache()}, opts...)...)
	if errors.Is(err, nvrtc.ErrNotInstalled) && os.Getenv(requireNVRTC) != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() {
		if err := compiler.Close(); err != nil {
			t.Error(err)
		}
	})
	return compiler
}

// archOf returns the PTX architecture to compile for so that the context's device can
// run the result.
func archOf(t *testing.T, compiler *nvrtc.Compiler, c *driver.Context) (arch nvrtc.Arch, major, minor int) {
	t.Helper()
	major, minor, err := c.Device().ComputeCapability()
	if err != nil {
		t.Fatal(err)
	}
	if arch, err = compiler.ArchFor(major, minor); err != nil {
		t.Fatal(err)
	}
	return arch, major, minor
}

const squares = `extern "C" __global__ void squares(int *x, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = i * i;
}
`

func TestCompiledPTXRuns(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		compiler := installed(t, c)
		arch, _, _ := archOf(t, compiler, c)
		t.Logf("%v, for %s", compiler, arch)
		r, err := compiler.Compile(t.Context(), nvrtc.Program{Source: squares, Arch: arch})
		if err != nil {
			t.Fatalf("%+v", err)
		}
		runSquares(t, c, r.Image())
	})
}

func TestCompiledCubinRuns(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		compiler := installed(t, c)
		_, major, minor := archOf(t, compiler, c)
		r, err := compiler.Compile(t.Context(), nvrtc.Program{Source: squares, Arch: nvrtc.Real(major, minor)})
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if len(r.Cubin) == 0 || len(r.PTX) == 0 {
			t.Fatalf("%d bytes of PTX, %d bytes of cubin", len(r.PTX), len(r.Cubin))
		}
		runSquares(t, c, r.Image())
	})
}

func runSquares(t *testing.T, c *driver.Context, image []byte) {
	t.Helper()
	const n = 1000
	got := make([]int32, n)
	runKernel(t, c, image, "squares", got, int32(n))
	for i, v := range got {
		if v != int32(i*i) {
			t.Fatalf("element %d is %d", i, v)
		}
	}
}

// runKernel runs a kernel that writes data, one thread per element.
func runKernel[T any](t *testing.T, c *driver.Context, image []byte, name string, data []T, args ...any) {
	t.Helper()
	m, err := c.LoadModule(image)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer m.Close()
	k, err := m.Kernel(name)
	if err != nil {
		t.Fatal(err)
	}
	x, err := driver.AllocFrom(c, data)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cfg := driver.LaunchConfig{Grid: driver.Blocks(len(data), 128), Block: driver.D1(128)}
	launch, err := k.Prepare(cfg, append([]any{x}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Do(launch); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := x.CopyTo(data); err != nil {
		t.Fatal(err)
	}
}

const halves = `#include <cuda_fp16.h>
extern "C" __global__ void halves(float *x, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = __half2float(__hadd(__float2half(float(i)), __float2half(0.5f)));
}
`

// CUDA's own headers must be found, compiled, and cached together with everything they
// include.
func TestCUDAHeadersAreFoundAndCached(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		cache, err := nvrtc.NewCache(filepath.Join(gputest.TempDir(t), "cache"), 0)
		if err != nil {
			t.Fatal(err)
		}
		compiler := installed(t, c, nvrtc.WithCache(cache))
		folders, err := compiler.CUDAIncludes()
		if err != nil && os.Getenv(requireNVRTC) != "1" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		arch, _, _ := archOf(t, compiler, c)
		for i := range 2 {
			begin := time.Now()
			r, err := compiler.Compile(t.Context(), nvrtc.Program{Source: halves, Arch: arch, IncludePaths: folders})
			if err != nil {
				t.Fatalf("%+v", err)
			}
			t.Logf("%q, cached %v: %v", folders, r.Cached, time.Since(begin))
			if r.Cached != (i == 1) {
				t.Errorf("compilation %d: cached %v; %+v", i, r.Cached, cache.Stats())
			}
			runHalves(t, c, r.Image())
		}
	})
}

func runHalves(t *testing.T, c *driver.Context, image []byte) {
	t.Helper()
	const n = 300
	got := make([]float32, n)
	runKernel(t, c, image, "halves", got, int32(n))
	for i, v := range got {
		if v != float32(i)+0.5 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}

// The source line of an error must appear only once. Newer compilers print it themselves.
func TestErrorsOfTheInstalledCompilerShowTheLine(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		_, err := installed(t, c).Compile(t.Context(), nvrtc.Program{
			Name:    "k.cu",
			Source:  "#include \"h.h\"\n__global__ void k(float *x) {\n\tint unused;\n\tx[0] = y;\n}\n",
			Headers: map[string]string{"h.h": "__device__ int f() { return z; }\n"},
		})
		if !errors.Is(err, nvrtc.NVRTC_ERROR_COMPILATION) || !strings.HasSuffix(err.Error(), `h.h:1: identifier "z" is undefined (__device__ int f() { return z; }); and 1 more error`) {
			t.Errorf("error %v", err)
		}
		long := fmt.Sprintf("%+v", err)
		if strings.Count(long, "x[0] = y;") != 1 {
			t.Errorf("the line is not there, or not once:\n%s", long)
		}
		t.Log(long)
	})
}

func TestInstalledCompilerServesManyGoroutines(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		compiler := installed(t, c)
		arch, _, _ := archOf(t, compiler, c)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				want := fmt.Sprint(1234500 + i)
				r, err := compiler.Compile(t.Context(), nvrtc.Program{Arch: arch, Source: `extern "C" __global__ void k(int *x) { x[0] = ` + want + "; }"})
				if err != nil || !strings.Contains(string(r.PTX), want) {
					t.Errorf("%s: %v", want, err)
				}
			})
		}
		wg.Wait()
	})
}
