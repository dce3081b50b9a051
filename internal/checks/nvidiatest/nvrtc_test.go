//go:build nvidia

package nvidiatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

const nvrtcLibrary = "nvrtc/usr/lib/x86_64-linux-gnu/libnvrtc.so.11.2"

// compiler returns NVIDIA's NVRTC 11.8, which is not in the system's search path.
func compiler(t *testing.T, opts ...nvrtc.Option) *nvrtc.Compiler {
	t.Helper()
	c, err := nvrtc.Open(append([]nvrtc.Option{nvrtc.WithLibrary(part(t, nvrtcLibrary)), nvrtc.WithoutCache()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestNVIDIACompilerSaysWhatItIs(t *testing.T) {
	c := compiler(t)
	if c.Version() != 11080 || !strings.Contains(c.Library(), "libnvrtc.so.11.8") {
		t.Errorf("%v, version %d", c, c.Version())
	}
	if archs := c.Archs(); !slices.Contains(archs, "compute_52") || !slices.Contains(archs, "compute_90") {
		t.Errorf("architectures %q", archs)
	}
	if arch, err := c.ArchFor(10, 0); err != nil || arch != "compute_90" {
		t.Errorf("for 10.0: %s, %v", arch, err)
	}
	t.Log(c)
}

func TestNVIDIACompilerGivesPTXAndCubins(t *testing.T) {
	c := compiler(t)
	for _, arch := range c.Archs() {
		r, err := c.Compile(t.Context(), nvrtc.Program{Source: affine, Arch: arch, NameExpressions: []string{"affine<float>"}})
		if err != nil {
			t.Errorf("%s: %+v", arch, err)
			continue
		}
		m, err := ptx.Parse(string(arch), r.PTX)
		if err != nil {
			t.Errorf("%s: %v", arch, err)
			continue
		}
		if want := "sm_" + strings.TrimPrefix(string(arch), "compute_"); m.Targets[0] != want {
			t.Errorf("%s: the PTX is for %q, want %s", arch, m.Targets, want)
		}
		if len(r.Cubin) != 0 {
			t.Errorf("%s: there is a cubin", arch)
		}
	}
	r, err := c.Compile(t.Context(), nvrtc.Program{Source: affine, Arch: nvrtc.Real(8, 0), NameExpressions: []string{"affine<float>"}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(r.Image()), "\x7fELF") || !strings.Contains(string(r.Cubin), r.Lowered["affine<float>"]) {
		t.Errorf("the cubin begins with %q", r.Image()[:16])
	}
}

const affine = `
template <typename T>
__global__ void affine(T *x, unsigned n, T a, T b) {
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = a * x[i] + b;
}
`

func TestNVIDIACompiledCodeRunsOnTheEmulator(t *testing.T) {
	c := compiler(t)
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, dc *driver.Context) {
		r, err := c.Compile(t.Context(), nvrtc.Program{Source: affine, Arch: "compute_80", NameExpressions: []string{"affine<float>", "affine<int>"}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := dc.LoadModule(r.Image())
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		runAffine[float32](t, dc, m, r, "affine<float>")
		runAffine[int32](t, dc, m, r, "affine<int>")
	})
}

func runAffine[T float32 | int32](t *testing.T, c *driver.Context, m *driver.Module, r *nvrtc.Result, expression string) {
	t.Helper()
	name, err := r.LoweredName(expression)
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel(name)
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	in := make([]T, n)
	for i := range in {
		in[i] = T(i)
	}
	x, err := driver.AllocFrom(c, in)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	launch, err := k.Prepare(driver.LaunchConfig{Grid: driver.Blocks(n, 128), Block: driver.D1(128)}, x, uint32(n), T(3), T(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Do(launch), s.Wait(context.Background()), x.CopyTo(in)); err != nil {
		t.Fatal(err)
	}
	for i, got := range in {
		if got != T(3*i+2) {
			t.Fatalf("%s: element %d is %v, want %v", expression, i, got, 3*i+2)
		}
	}
}

func TestNVIDIACompilerErrorsNameTheLine(t *testing.T) {
	c := compiler(t)
	_, err := c.Compile(t.Context(), nvrtc.Program{
		Name:    "k.cu",
		Source:  "#include \"h.h\"\n__global__ void k(float *x) {\n\tint unused;\n\tx[0] = y;\n}\n",
		Headers: map[string]string{"h.h": "__device__ int f() { return z; }\n"},
	})
	if !errors.Is(err, nvrtc.NVRTC_ERROR_COMPILATION) || !strings.Contains(err.Error(), "h.h:1: ") || !strings.Contains(err.Error(), "(__device__ int f() { return z; }); and 1 more error") {
		t.Errorf("error %v", err)
	}
	long := fmt.Sprintf("%+v", err)
	for _, want := range []string{`k.cu(4): error: identifier "y" is undefined`, "      4 | \tx[0] = y;", "      1 | __device__ int f() { return z; }"} {
		if !strings.Contains(long, want) {
			t.Errorf("%%+v lacks %q:\n%s", want, long)
		}
	}
	for want, p := range map[string]nvrtc.Program{
		"compute_90":                        {Source: affine, Arch: "compute_99"},
		"unrecognized option -foo found":    {Source: affine, Options: []string{"-foo"}},
		"Compiler.CUDAIncludes":             {Source: "#include <cuda_fp16.h>\n"},
		`identifier "nothing" is undefined`: {Source: affine, NameExpressions: []string{"nothing<int>"}},
	} {
		if _, err := c.Compile(t.Context(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func TestNVIDIACompilerWarningsAreInTheLog(t *testing.T) {
	r, err := compiler(t).Compile(t.Context(), nvrtc.Program{Name: "k.cu", Source: "__global__ void k() {\n\tint unused;\n}\n"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Log, "k.cu(2): warning") {
		t.Errorf("log %q", r.Log)
	}
}

// The compiler must find a header on disk and notice when the header changes.
func TestNVIDIACompilerCacheSeesHeaders(t *testing.T) {
	dir := t.TempDir()
	cache, err := nvrtc.NewCache(filepath.Join(dir, "cache"), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := compiler(t, nvrtc.WithCache(cache))
	header := filepath.Join(dir, "value.h")
	p := nvrtc.Program{
		Source:       "#include <value.h>\nextern \"C\" __global__ void k(int *x) { x[0] = VALUE; }\n",
		IncludePaths: []string{dir},
	}
	for i, want := range []string{"11223344", "11223344", "55667788"} {
		if err := os.WriteFile(header, []byte("#define VALUE "+want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := c.Compile(t.Context(), p)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if !strings.Contains(string(r.PTX), want) || r.Cached != (i == 1) {
			t.Errorf("%d: cached %v\n%s", i, r.Cached, r.PTX)
		}
	}
	if s := cache.Stats(); s.Stored != 2 || s.Hits != 1 || s.Failed != 0 {
		t.Errorf("statistics %+v", s)
	}
}

func TestNVIDIACompilerServesManyGoroutines(t *testing.T) {
	c := compiler(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := fmt.Sprint(1234500 + i)
			r, err := c.Compile(t.Context(), nvrtc.Program{Source: "extern \"C\" __global__ void k(int *x) { x[0] = " + want + "; }"})
			if err != nil || !strings.Contains(string(r.PTX), want) {
				t.Errorf("%s: %v", want, err)
			}
		})
	}
	wg.Wait()
}

// Build the example and run it with and without NVRTC.
func TestNVIDIACompilerExample(t *testing.T) {
	library := part(t, nvrtcLibrary)
	program := filepath.Join(t.TempDir(), "example")
	build := exec.Command("go", "build", "-o", program, "./examples/13-nvrtc")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(variable string, want ...string) {
		t.Helper()
		cmd := exec.Command(program, "-device", "emulator")
		cmd.Env = append(os.Environ(), nvrtc.LibraryVariable+"="+variable, nvrtc.CacheVariable+"="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
		for _, w := range want {
			if !strings.Contains(string(out), w) {
				t.Errorf("it does not print %q:\n%s", w, out)
			}
		}
		t.Logf("%s", out)
	}
	run(library, "compiling with NVRTC 11.8", "found in the cache", "both kernels compute the polynomial", `polynomial.cu:14: identifier "j" is undefined`)
	if _, err := nvrtc.Open(); errors.Is(err, nvrtc.ErrNotInstalled) {
		run("", "There is nothing to compile with. NVRTC is not installed: install ")
	}
}
