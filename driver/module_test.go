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
	"github.com/purecuda/cuda/ptx/gpu"
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

// The kernel header stores the slice or view that it receives: address, length and, for a slice,
// capacity.
const headerPTX = `.version 6.0
.target sm_52
.address_size 64
.visible .entry header(.param .u64 out, .param .align 8 .b8 s[24], .param .align 8 .b8 v[16])
{
	.reg .b64 %r<7>;
	ld.param.u64 %r0, [out];
	ld.param.u64 %r1, [s];
	ld.param.u64 %r2, [s+8];
	ld.param.u64 %r3, [s+16];
	ld.param.u64 %r4, [v];
	ld.param.u64 %r5, [v+8];
	st.global.u64 [%r0], %r1;
	st.global.u64 [%r0+8], %r2;
	st.global.u64 [%r0+16], %r3;
	st.global.u64 [%r0+24], %r4;
	st.global.u64 [%r0+32], %r5;
	ret;
}
`

func headerKernel(t *testing.T, c *driver.Context) *driver.Kernel {
	m := must(c.LoadModule([]byte(headerPTX)))(t)
	t.Cleanup(func() { noError(t, m.Close()) })
	return must(m.Kernel("header"))(t)
}

func alloc[T any](t *testing.T, c *driver.Context, n int) *driver.Buffer[T] {
	b := must(driver.Alloc[T](c, n))(t)
	t.Cleanup(func() { noError(t, b.Close()) })
	return b
}

type headerArgs struct {
	out driver.View[uint64]
	s   driver.View[float32]
	v   driver.View[uint16]
}

// A 24-byte parameter receives memory as a slice, and a 16-byte parameter receives it as a View.
// The test tries every way to set an argument.
func TestMemoryIsPassedAsASlice(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := headerKernel(t, c)
		s := must(c.NewStream())(t)
		defer s.Close()
		out, x, y := alloc[uint64](t, c, 5), alloc[float32](t, c, 10), alloc[uint16](t, c, 7)
		check := func(where string, a driver.View[float32], b driver.View[uint16]) {
			t.Helper()
			noError(t, s.Wait(t.Context()))
			got := make([]uint64, 5)
			noError(t, out.CopyTo(got))
			want := [5]uint64{uint64(a.Ptr()), uint64(a.Len()), uint64(a.Len()), uint64(b.Ptr()), uint64(b.Len())}
			if [5]uint64(got) != want {
				t.Errorf("%s: got %v, want %v", where, got, want)
			}
		}
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		l := must(k.Prepare(cfg, out, driver.In(x), y.View(1, 3)))(t)
		noError(t, s.Do(l))
		check("Prepare", x.All(), y.View(1, 3))
		noError(t, driver.SetArg(l, 1, x.View(2, 7)))
		noError(t, driver.SetArg(l, 2, y))
		noError(t, s.Do(l))
		check("SetArg", x.View(2, 7), y.All())
		noError(t, driver.SetArg(l, 1, driver.In(x.View(1, 1))))
		noError(t, s.Do(l))
		check("empty", x.View(1, 1), y.All())
		bytes := must(driver.ViewAs[byte](x))(t)
		noError(t, driver.SetArg(l, 1, driver.In(bytes)))
		noError(t, s.Do(l))
		if got := must(driver.ArgOf[driver.View[byte]](l, 1))(t); got == (driver.Arg[driver.View[byte]]{}) {
			t.Error("no argument")
		}
		noError(t, s.Wait(t.Context()))
		got := make([]uint64, 5)
		noError(t, out.CopyTo(got))
		if got[1] != 40 {
			t.Errorf("length of the bytes is %d, not 40", got[1])
		}

		calls := must(driver.NewCalls(k, driver.Writes, driver.Reads, driver.Reads))(t)
		for _, v := range []driver.View[float32]{x.All(), x.View(0, 4), x.View(0, 4), x.View(4, 10)} {
			noError(t, calls.Do(s, &cfg, &headerArgs{out.All(), v, y.View(0, v.Len()/2)}))
			check("Do", v, y.View(0, v.Len()/2))
		}
		for _, m := range []driver.Memory{x, bytes, x.View(0, 4)} {
			noError(t, calls.Do(s, &cfg, &struct{ a, b, c driver.Memory }{out, m, y}))
			noError(t, s.Wait(t.Context()))
			noError(t, out.CopyTo(got))
			if n := uint64(m.Bytes()) / map[bool]uint64{true: 1, false: 4}[m == driver.Memory(bytes)]; got[1] != n || got[2] != n {
				t.Errorf("Do of %v: length %d, want %d", m, got[1], n)
			}
		}
		_, err := k.Prepare(cfg, x.All(), uint64(1), y)
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 1 (s)")
	})
}

// A launch is refused when it is enqueued, and not before, if the memory of a restrict argument
// overlaps. This allows a program to exchange arguments one by one.
func TestRestrictArgumentsMustNotOverlap(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := headerKernel(t, c)
		wantError(t, k.Restrict(3), driver.CUDA_ERROR_INVALID_VALUE, "no argument 3")
		wantError(t, (*driver.Kernel)(nil).Restrict(0), driver.CUDA_ERROR_INVALID_VALUE)
		noError(t, k.Restrict(1))
		s := must(c.NewStream())(t)
		defer s.Close()
		out, x := alloc[uint64](t, c, 6), alloc[float32](t, c, 10)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		other := alloc[float32](t, c, 10)

		l := must(k.Prepare(cfg, out, x, other))(t)
		noError(t, s.Do(l))
		noError(t, driver.SetArg(l, 1, other.All()))
		wantError(t, s.Do(l), driver.CUDA_ERROR_INVALID_VALUE, "header", "argument 2 (v)", "overlaps that of argument 1 (s)", "restrict")
		wantError(t, s.Do(l.Clone()), driver.CUDA_ERROR_INVALID_VALUE, "overlaps")
		noError(t, driver.SetArg(l, 2, x.All()))
		noError(t, s.Do(l))
		noError(t, driver.SetArg(l, 1, driver.In(x)))
		wantError(t, s.Do(l), driver.CUDA_ERROR_INVALID_VALUE, "overlaps")
		noError(t, driver.SetArg(l, 2, driver.In(x)))
		noError(t, s.Do(l)) // both arguments are only read

		calls := must(driver.NewCalls(k, driver.Writes, driver.ReadsWrites, driver.Reads))(t)
		type args struct {
			out     driver.View[uint64]
			s, view driver.View[float32]
		}
		for range 2 {
			noError(t, calls.Do(s, &cfg, &args{out.All(), x.View(0, 5), x.View(5, 10)}))
			wantError(t, calls.Do(s, &cfg, &args{out.All(), x.View(0, 6), x.View(5, 10)}), driver.CUDA_ERROR_INVALID_VALUE, "overlaps")
		}
		noError(t, s.Wait(t.Context()))
	})
}

// A struct passed by value can contain a View of package gpu. A struct in memory can as well.
func TestStructsWithViews(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := headerKernel(t, c)
		s := must(c.NewStream())(t)
		defer s.Close()
		out := alloc[uint64](t, c, 5)
		type params struct {
			v gpu.View[int32]
			n int
		}
		alloc[params](t, c, 1)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		l := must(k.Prepare(cfg, out, params{gpu.ViewAt[int32](uint64(64), 5), 6}, gpu.ViewAt[byte](uint64(128), 7)))(t)
		noError(t, s.Do(l))
		noError(t, driver.SetArg(l, 2, gpu.ViewAt[byte](uint64(256), 8)))
		noError(t, s.Do(l))
		noError(t, s.Wait(t.Context()))
		got := make([]uint64, 5)
		noError(t, out.CopyTo(got))
		if [5]uint64(got) != [5]uint64{64, 5, 6, 256, 8} {
			t.Errorf("got %v", got)
		}
		type host struct{ _ *int32 }
		if _, err := driver.Alloc[host](c, 1); err == nil {
			t.Error("memory of host pointers")
		}
	})
}
