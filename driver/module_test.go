package driver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
)

func TestPTXIsTerminated(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	// The load must not write to the slice's spare capacity.
	text := make([]byte, len(axpyPTX), len(axpyPTX)+1)
	copy(text, axpyPTX)
	text[:cap(text)][len(text)] = 'x'
	noError(t, must(c.LoadModule(text))(t).Close())
	if string(f.image) != axpyPTX {
		t.Errorf("the driver got %q", f.image)
	}
	if text[:cap(text)][len(text)] != 'x' {
		t.Error("memory after the text was changed")
	}
	noError(t, must(c.LoadModule([]byte(axpyPTX+"\x00ignored")))(t).Close())
	if string(f.image) != axpyPTX {
		t.Errorf("the driver got %q", f.image)
	}
	if f.count("module") != 0 {
		t.Error("a module is left")
	}
}

func TestImagesThatAreNoneAreRefused(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	for name, test := range map[string]struct {
		image string
		word  string
	}{
		"empty":   {"", "empty"},
		"text":    {"hello", "neither PTX"},
		"cut ELF": {"\x7fELF\x02", "5 bytes"},
		"wrapper": {"\xb1\x43\x62\x46\x01\x00\x00\x00", "wrapper"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.LoadModule([]byte(test.image))
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "cannot load a module", test.word)
			_, err = c.LoadLibrary([]byte(test.image))
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "cannot load a library", test.word)
		})
	}
	if f.called(cu.FnCuModuleLoadDataEx) {
		t.Error("the driver was called")
	}
}

func TestJITOptionsReachTheDriver(t *testing.T) {
	f := newFakeDevice()
	must(f.open(t).LoadModule([]byte(axpyPTX), driver.WithJIT(cu.CU_JIT_MAX_REGISTERS, 32), driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, 2), driver.WithJIT(cu.CU_JIT_GENERATE_LINE_INFO, 1),
		driver.WithTarget(image.Arch{Major: 9}), driver.WithJIT(cu.CU_JIT_CACHE_MODE, int(cu.CU_JIT_CACHE_OPTION_CA))))(t)
	for o, want := range map[cu.CUjit_option]uintptr{
		cu.CU_JIT_MAX_REGISTERS: 32, cu.CU_JIT_OPTIMIZATION_LEVEL: 2, cu.CU_JIT_GENERATE_LINE_INFO: 1,
		cu.CU_JIT_TARGET: 90, cu.CU_JIT_CACHE_MODE: 2,
	} {
		if got := f.options[o]; got != want {
			t.Errorf("%v is %d, not %d", o, got, want)
		}
	}
	if f.options[cu.CU_JIT_ERROR_LOG_BUFFER] == 0 || f.options[cu.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES] == 0 {
		t.Error("no log was requested")
	}
}

func TestBrokenPTXShowsTheLogAndTheLine(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	f.errorLog = "ptxas application ptx input, line 17; error   : Unknown symbol 'foo'\nptxas fatal   : Ptx assembly aborted due to errors\n"
	_, err := c.LoadModule([]byte(axpyPTX))
	wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "cuModuleLoadDataEx", "PTX line 17: Unknown symbol 'foo'", "ret;")
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than a line", err)
	}
	long := fmt.Sprintf("%+v", err)
	for _, want := range []string{"line 17; error   : Unknown symbol 'foo'\n", "     17 | \tret;\n", "Ptx assembly aborted"} {
		if !strings.Contains(long, want) {
			t.Errorf("%q does not contain %q", long, want)
		}
	}
	f.errorLog = ""
	noError(t, must(c.LoadModule([]byte(axpyPTX)))(t).Close())
	noError(t, c.Close())
	if f.retained() != 0 {
		t.Error("the context is still retained")
	}
}

func TestMissingKernelListsThoseThatAreThere(t *testing.T) {
	a := newAxpy(t)
	_, err := a.m.Kernel("saxpy")
	wantError(t, err, driver.CUDA_ERROR_NOT_FOUND, `"saxpy"`, "axpy, fixed, nothing")
	_, err = a.m.Kernel("AXPY")
	wantError(t, err, driver.CUDA_ERROR_NOT_FOUND, `did you mean "axpy"`)
	_, err = a.m.Kernel("")
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "empty name")
	_, err = a.m.Kernel("a\x00b")
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "NUL")
	if names := must(a.m.Kernels())(t); !slices.Equal(names, []string{"axpy", "fixed", "nothing"}) {
		t.Errorf("the kernels are %v", names)
	}
}

func TestKernelsAreFoundOnce(t *testing.T) {
	a := newAxpy(t)
	n := a.callCount()
	if k := must(a.m.Kernel("axpy"))(t); k != a.k || a.callCount() != n {
		t.Errorf("asking again made another kernel or a call")
	}
	if a.k.Name() != "axpy" || a.k.Raw() != 1 || a.k.Context() != a.c {
		t.Errorf("the kernel is %v, %#x", a.k, a.k.Raw())
	}
	sig, ok := a.k.Signature()
	if !ok || len(sig.Params) != 8 || sig.Params[4].Size != 12 {
		t.Errorf("the signature is %+v", sig)
	}
}

func TestKernelsKeepTheirModuleLoaded(t *testing.T) {
	f := newFakeDevice()
	f.kernels, f.params = []string{"axpy", "nothing", "fixed"}, axpyParams
	a := f.load(t)
	k := a.k
	a.m, a.k = nil, nil
	for range 3 {
		runtime.GC()
	}
	if f.count("module") != 1 {
		t.Fatal("the module of a kernel was unloaded")
	}
	noError(t, k.Load())
	k = nil
	eventually(t, "the dropped module is unloaded", func() bool { runtime.GC(); return f.count("module") == 0 })
}

func TestClosedModulesRefuseEverything(t *testing.T) {
	a := newAxpy(t)
	noError(t, a.m.Close())
	noError(t, a.m.Close())
	var none *driver.Module
	noError(t, none.Close())
	for m, want := range map[*driver.Module]error{a.m: driver.ErrClosed, none: driver.CUDA_ERROR_INVALID_VALUE} {
		_, err := m.Kernel("axpy")
		wantError(t, err, want, "module")
		_, err = m.Global("x")
		wantError(t, err, want, "module")
		_, err = m.Kernels()
		wantError(t, err, want, "module")
	}
	for _, err := range []error{
		a.k.Load(), a.k.SetAttribute(0, 0), opErr(a.k.Attribute(0)), opErr(a.k.MaxActiveBlocks(1, 0)),
		opErr(a.k.MaxPotentialBlockSize(nil, 0)), opErr(a.k.Info()),
	} {
		wantError(t, err, driver.ErrClosed, "kernel axpy", "module")
	}
	if a.count("module") != 0 {
		t.Error("it is still loaded")
	}
}

func TestOccupancyPicksTheBestBlock(t *testing.T) {
	a := newAxpy(t)
	best := must(a.k.MaxPotentialBlockSize(nil, 0))(t)
	if best != (driver.BlockSize{Block: 512, MinGrid: 8}) {
		t.Errorf("the best block is %+v", best)
	}
	best = must(a.k.MaxPotentialBlockSize(func(threads int) uintptr { return uintptr(threads) }, 100))(t)
	if best.Block != 100 {
		t.Errorf("the best block of at most 100 is %+v", best)
	}
	if n := must(a.k.MaxActiveBlocks(32, 0))(t); n != 2 {
		t.Errorf("%d blocks fit", n)
	}
	_, err := a.k.MaxActiveBlocks(0, 0)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "0 threads")
}

const clustersPTX = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry free() { ret; }\n.visible .entry sized() .explicitcluster { ret; }"

// A kernel with .explicitcluster must be launched with a cluster size. For other kernels, the size
// is optional.
func TestClustersOfAKernel(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		major, _, err := c.Device().ComputeCapability()
		if noError(t, err); major < 9 {
			t.Skip("clusters need compute capability 9.0")
		}
		m, s := must(c.LoadModule([]byte(clustersPTX)))(t), must(c.NewStream())(t)
		free, sized := must(m.Kernel("free"))(t), must(m.Kernel("sized"))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(8), Block: driver.D1(32)}
		if n := must(free.MaxPotentialClusterSize(cfg))(t); n < 8 {
			t.Errorf("the largest cluster has %d blocks, want at least 8", n)
		}
		noError(t, free.Launch(s, cfg))
		wantError(t, sized.Launch(s, cfg), driver.CUDA_ERROR_INVALID_VALUE, "kernel sized", "needs a cluster size")
		cfg.Cluster = driver.D1(2)
		if n := must(free.MaxActiveClusters(cfg))(t); n < 1 {
			t.Errorf("%d clusters of two blocks fit the device", n)
		}
		noError(t, free.Launch(s, cfg))
		noError(t, sized.Launch(s, cfg))
		noError(t, s.Wait(t.Context()))
		closeAll(t, m, s)
		for name, query := range map[string]func(driver.LaunchConfig) (int, error){"largest": free.MaxPotentialClusterSize, "active": free.MaxActiveClusters} {
			n, err := query(cfg)
			if wantError(t, err, driver.ErrClosed); n != 0 {
				t.Errorf("%s: %d for a closed kernel", name, n)
			}
		}
	})
}

// imageFile reads a file from testdata/images, which also has the sources of compiled files.
func imageFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "images", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBrokenImagesDoNotReachTheDriver(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		cubin, fat := imageFile(t, "variants_sm_90.cubin"), imageFile(t, "variants_plain.fatbin")
		for _, data := range [][]byte{cubin, fat} {
			for n := range len(data) {
				if _, err := c.LoadModule(data[:n]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					t.Fatalf("%d of %d bytes: %v", n, len(data), err)
				}
			}
		}
	})
}

func optimised(t *testing.T) ([]byte, *ptx.Inspection) {
	t.Helper()
	text, err := os.ReadFile("emulator/internal/vm/testdata/cuda/optimised.ptx")
	noError(t, err)
	tree, err := ptx.Parse("optimised.ptx", text)
	noError(t, err)
	report := ptx.Inspect(tree)
	if len(report.Kernels) < 10 {
		t.Fatalf("%d kernels are too few", len(report.Kernels))
	}
	return text, report
}

// A kernel's static shared memory has the size that the PTX declares, plus up to 16 bytes for
// alignment.
func TestSharedMemoryInTheTextIsWhatTheDriverSays(t *testing.T) {
	text, report := optimised(t)
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := must(c.LoadModule(text))(t)
		for _, k := range report.Kernels {
			info := must(must(m.Kernel(k.Name))(t).Info())(t)
			if int64(info.SharedStatic) < k.Shared || int64(info.SharedStatic) > k.Shared+16 {
				t.Errorf("%s: %d bytes shared, the text says %d", k.Name, info.SharedStatic, k.Shared)
			}
		}
		noError(t, m.Close())
	})
}

// A kernel's local memory is at most 16 bytes larger than the PTX declares. It can be smaller,
// because the compiler may use registers instead. Only GPUs are tested, because the emulator also
// stores call arguments in local memory.
func TestLocalMemoryInTheTextIsEnoughForTheDriver(t *testing.T) {
	text, report := optimised(t)
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		m := must(c.LoadModule(text))(t)
		for _, k := range report.Kernels {
			info := must(must(m.Kernel(k.Name))(t).Info())(t)
			if k.Stack >= 0 && int64(info.Local) > k.Stack+16 {
				t.Errorf("%s: %d bytes local, the text says %d", k.Name, info.Local, k.Stack)
			}
		}
		noError(t, m.Close())
	})
}

func TestKernelsOfAClosedDriverAreNotFound(t *testing.T) {
	d := must(driver.New(emulator.New(emulator.Config{})))(t)
	c := must(must(d.Device(0))(t).PrimaryContext())(t)
	m := must(c.LoadModule([]byte(workPTX)))(t)
	l := must(c.LoadLibrary([]byte(workPTX)))(t)
	if l.Context() != c {
		t.Errorf("the context of the library is %v", l.Context())
	}
	_ = d.Close() // Close may fail because objects are still open
	if k, err := m.Kernel("set"); err == nil {
		t.Errorf("a module has %v", k)
	}
	if k, err := l.Kernel("set"); err == nil {
		t.Errorf("a library has %v", k)
	}
	var none *driver.Library
	if _, err := none.Kernel("set"); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("a nil library: %v", err)
	}
}
