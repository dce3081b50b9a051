package driver_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/imagetest"
)

// wantError fails unless err matches code and its text contains every word.
func wantError(t testing.TB, err error, code error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, expected one about %q", words)
	}
	if !errors.Is(err, code) {
		t.Errorf("%v: does not match %v", err, code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: does not mention %q", err, w)
		}
	}
}

func TestLaunchPassesConfigurationAndArguments(t *testing.T) {
	a := newAxpy(t)
	l := must(a.k.Prepare(driver.LaunchConfig{Grid: driver.D3(2, 3, 4), Block: driver.D3(8, 4, 2), SharedMem: 64}, a.args()...))(t)
	noError(t, a.s.Do(l))
	got := a.launch
	if got.grid != driver.D3(2, 3, 4) || got.block != driver.D3(8, 4, 2) || got.shared != 64 || got.stream != uintptr(a.s.Raw()) {
		t.Errorf("launched with %+v", got)
	}
	le := binary.LittleEndian
	for i, want := range []uint64{uint64(a.x.Ptr()), uint64(a.y.Ptr()) + 32} {
		if p := le.Uint64(got.args[i]); p != want {
			t.Errorf("argument %d is %#x, not %#x", i, p, want)
		}
	}
	if v := math.Float32frombits(le.Uint32(got.args[2])); v != 2.5 {
		t.Errorf("alpha is %v", v)
	}
	if n := le.Uint32(got.args[3]); n != 64 {
		t.Errorf("n is %d", n)
	}
	if s := got.args[4]; le.Uint32(s) != 1 || le.Uint32(s[4:]) != 2 || le.Uint32(s[8:]) != 3 {
		t.Errorf("shape is %v", s)
	}
	if v := math.Float64frombits(le.Uint64(got.args[5])); v != 0.5 {
		t.Errorf("beta is %v", v)
	}
	if h, b := le.Uint16(got.args[6]), int32(le.Uint32(got.args[7])); h != 7 || b != -1 {
		t.Errorf("half is %d, bits is %d", h, b)
	}
}

func TestSetArgChangesTheNextLaunch(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	z := must(driver.Alloc[float32](a.c, 4))(t)
	noError(t, driver.SetArg(l, 0, z))
	noError(t, driver.SetArg(l, 1, z.View(1, 3)))
	noError(t, driver.SetArg(l, 2, float32(-1)))
	noError(t, driver.SetArg(l, 4, shape{7, 8, 9}))
	noError(t, driver.SetArg(l, 3, int32(5)))
	noError(t, a.s.Do(l))
	le := binary.LittleEndian
	args := a.launch.args
	if le.Uint64(args[0]) != uint64(z.Ptr()) || le.Uint64(args[1]) != uint64(z.Ptr())+4 {
		t.Errorf("pointers are %x", args[:2])
	}
	if math.Float32frombits(le.Uint32(args[2])) != -1 || le.Uint32(args[3]) != 5 || le.Uint32(args[4][8:]) != 9 {
		t.Errorf("values are %x", args[2:5])
	}
}

func TestKernelLaunchIsPrepareAndDo(t *testing.T) {
	a := newAxpy(t)
	for range 3 { // the second and third calls reuse the Launch of the first
		noError(t, a.k.Launch(a.s, a.config(), a.args()...))
		if binary.LittleEndian.Uint64(a.launch.args[0]) != uint64(a.x.Ptr()) {
			t.Fatalf("x is %x", a.launch.args[0])
		}
	}
	wantError(t, a.k.Launch(nil, a.config()), driver.CUDA_ERROR_INVALID_VALUE, "stream")
	wantError(t, a.k.Launch(a.s, a.config()), driver.CUDA_ERROR_INVALID_VALUE, "8 arguments", "alpha .f32", "got 0")
	noError(t, must(a.m.Kernel("nothing"))(t).Launch(a.s, a.config()))
}

func TestLaunchWithAttributesGoesThroughLaunchKernelEx(t *testing.T) {
	a := newAxpy(t)
	cfg := a.config()
	cfg.Cooperative, cfg.Priority, cfg.Programmatic = true, -2, true
	cfg.Cluster = driver.D1(2)
	l := must(a.k.Prepare(cfg, a.args()...))(t)
	noError(t, a.s.Do(l))
	if !a.launch.ex || a.launch.stream != uintptr(a.s.Raw()) {
		t.Errorf("launched with %+v", a.launch)
	}
	got := map[cu.CUlaunchAttributeID]cu.CUlaunchAttributeValue{}
	for _, at := range a.launch.attributes {
		got[at.Id] = at.Value
	}
	if v := got[cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE]; *v.Cooperative() != 1 {
		t.Error("not cooperative")
	}
	if v := got[cu.CU_LAUNCH_ATTRIBUTE_PRIORITY]; *v.Priority() != -2 {
		t.Errorf("priority %d", *v.Priority())
	}
	if v := got[cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION]; *v.ProgrammaticStreamSerializationAllowed() != 1 {
		t.Error("not programmatic")
	}
	if v := got[cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION]; *v.ClusterDim() != (cu.CUlaunchAttributeValue_ClusterDim{X: 2, Y: 1, Z: 1}) {
		t.Errorf("cluster %v", *v.ClusterDim())
	}
	if len(l.Block().Attributes()) != len(got) || len(got) != 4 {
		t.Errorf("%d attributes, %d were passed", len(l.Block().Attributes()), len(got))
	}
	cfg.Cooperative, cfg.Priority, cfg.Programmatic, cfg.Cluster = false, 0, false, driver.Dim3{}
	noError(t, l.SetConfig(cfg))
	noError(t, a.s.Do(l))
	if a.launch.ex {
		t.Error("a plain launch went through cuLaunchKernelEx")
	}
}

func TestCallsHaveTheAttributesOfEachConfiguration(t *testing.T) {
	a := newAxpy(t)
	nothing := must(a.m.Kernel("nothing"))(t)
	calls := must(driver.NewCalls(nothing))(t)
	plain := a.config()
	prior := plain
	prior.Priority = -2
	for i, cfg := range []driver.LaunchConfig{plain, plain, prior, prior, plain, prior, plain} {
		noError(t, calls.Do(a.s, &cfg, &struct{}{}))
		if a.launch.ex != (cfg.Priority != 0) || a.launch.stream != uintptr(a.s.Raw()) {
			t.Errorf("launch %d: %+v", i, a.launch)
		}
	}
}

func TestWrongArgumentsNameTheParameter(t *testing.T) {
	a := newAxpy(t)
	var none *driver.Buffer[float32]
	host := must(driver.AllocHost[float32](a.c, 1))(t)
	closed := must(driver.Alloc[float32](a.c, 1))(t)
	noError(t, closed.Close())
	invalid := driver.CUDA_ERROR_INVALID_VALUE
	for _, test := range []struct {
		name  string
		i     int
		v     any
		code  error
		words []string
	}{
		{"int for float", 2, int32(1), invalid, []string{"argument 2 (alpha)", ".f32", "int32", "pass a float32"}},
		{"float for int", 3, float32(1), invalid, []string{"argument 3 (n)", ".u32", "float32", "integer of 32 bits"}},
		{"float64 for float32", 2, 1.5, invalid, []string{"(alpha)", "4 bytes", "float64", "8 bytes", "pass a float32"}},
		{"plain int", 3, 5, invalid, []string{"(n)", "int32 or int64"}},
		{"plain uint", 3, uint(5), invalid, []string{"(n)", "uint32 or uint64"}},
		{"int32 for a pointer", 0, int32(5), invalid, []string{"(x)", "8 bytes", "pass a Buffer"}},
		{"float64 for a pointer", 0, 5.0, invalid, []string{"(x)", ".u64", "float64"}},
		{"slice", 0, []float32{1}, invalid, []string{"(x)", "Go pointer", "Buffer"}},
		{"pointer", 0, new(float32), invalid, []string{"(x)", "Go pointer"}},
		{"string", 0, "x", invalid, []string{"(x)", "string"}},
		{"nil", 0, nil, invalid, []string{"(x)", "nil", "CUdeviceptr(0)"}},
		{"nil buffer", 0, none, driver.CUDA_ERROR_INVALID_VALUE, []string{"(x)", "nil buffer"}},
		{"zero view", 0, driver.View[float32]{}, driver.CUDA_ERROR_INVALID_VALUE, []string{"(x)", "buffer"}},
		{"closed buffer", 0, closed, driver.ErrClosed, []string{"(x)", "buffer of float32"}},
		{"view outside", 0, a.x.View(60, 70), invalid, []string{"(x)", "[60:70]", "64 elements"}},
		{"host buffer", 0, host, invalid, []string{"(x)", "host memory", "Device"}},
		{"buffer for an int", 3, a.x, invalid, []string{"(n)", "4 bytes", "8 bytes"}},
		{"struct too small", 4, [2]int32{}, invalid, []string{"(shape)", ".b8[12]", "12 bytes", "8 bytes"}},
		{"struct with pointer", 4, struct{ s *int }{}, invalid, []string{"(shape)", ".s", "a Go pointer"}},
		{"struct for a number", 3, [4]byte{}, invalid, []string{"(n)", ".u32"}},
		{"int for float64", 5, int64(1), invalid, []string{"(beta)", ".f64", "an int64", "pass a float64"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := a.prepare(t)
			wantError(t, driver.SetArg(l, test.i, test.v), test.code, append(test.words, "kernel axpy")...)
			// The same mistake must be detected again, and the launch must keep its old argument.
			wantError(t, driver.SetArg(l, test.i, test.v), invalid)
			noError(t, a.s.Do(l))
		})
	}
	l := a.prepare(t)
	for _, i := range []int{-1, 8} {
		wantError(t, driver.SetArg(l, i, int32(0)), invalid, "no argument", "takes 8")
	}
}

func TestArgumentsThatFitAreAccepted(t *testing.T) {
	a := newAxpy(t)
	type id uint32
	for _, test := range []struct {
		name string
		i    int
		v    any
	}{
		{"device pointer", 0, a.x.Ptr()}, {"null", 0, driver.CUdeviceptr(0)}, {"int64", 0, int64(1)}, {"uintptr", 0, uintptr(1)},
		{"signed for unsigned", 3, int32(-1)}, {"named", 3, id(1)}, {"bits as float", 7, float32(1)},
		{"bits as bytes", 7, [4]byte{}}, {"array", 4, [3]float32{}}, {"int16", 6, int16(1)},
		{"other element type", 0, must(driver.Alloc[byte](a.c, 1))(t)},
		{"empty buffer", 0, must(driver.Alloc[byte](a.c, 0))(t)},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := a.prepare(t)
			noError(t, driver.SetArg(l, test.i, test.v))
			noError(t, a.s.Do(l))
		})
	}
}

func TestImpossibleConfigurationsNameTheDimension(t *testing.T) {
	a := newAxpy(t)
	invalid := driver.CUDA_ERROR_INVALID_VALUE
	ok := driver.D1(32)
	for _, test := range []struct {
		name  string
		cfg   driver.LaunchConfig
		words []string
	}{
		{"zero grid", driver.LaunchConfig{Block: ok}, []string{"grid dimension X is 0", "1 to 2147483647"}},
		{"negative grid", driver.LaunchConfig{Grid: driver.D1(-1), Block: ok}, []string{"grid dimension X is 0"}},
		{"grid y", driver.LaunchConfig{Grid: driver.D2(1, 65536), Block: ok}, []string{"grid dimension Y is 65536", "65535"}},
		{"grid without z", driver.LaunchConfig{Grid: driver.Dim3{X: 1, Y: 1}, Block: ok}, []string{"grid dimension Z is 0"}},
		{"zero block", driver.LaunchConfig{Grid: ok}, []string{"block dimension X is 0"}},
		{"block x", driver.LaunchConfig{Grid: ok, Block: driver.D1(1025)}, []string{"block dimension X is 1025", "1024"}},
		{"block z", driver.LaunchConfig{Grid: ok, Block: driver.D3(1, 1, 65)}, []string{"block dimension Z is 65", "64"}},
		{"threads", driver.LaunchConfig{Grid: ok, Block: driver.D2(64, 32)}, []string{"2048 threads", "1024"}},
		{"threads of the kernel", driver.LaunchConfig{Grid: ok, Block: driver.D1(1024)}, []string{"1024 threads", "512", "16 registers"}},
		{"shared", driver.LaunchConfig{Grid: ok, Block: ok, SharedMem: 227 << 10}, []string{"232448 bytes of dynamic", "1024 of static", "232448"}},
		{"cooperative", driver.LaunchConfig{Grid: driver.D1(9), Block: ok, Cooperative: true}, []string{"cooperative", "9 blocks", "only 8 fit"}},
		{"cluster", driver.LaunchConfig{Grid: driver.D1(9), Block: ok, Cluster: driver.D1(2)}, []string{"cluster dimension X is 2", "grid's, which is 9"}},
		{"big cluster", driver.LaunchConfig{Grid: driver.D1(16), Block: ok, Cluster: driver.D1(16)}, []string{"16 blocks", "NON_PORTABLE"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := a.k.Prepare(test.cfg, a.args()...)
			wantError(t, err, invalid, append(test.words, "kernel axpy")...)
		})
	}
	fixed := must(a.m.Kernel("fixed"))(t)
	_, err := fixed.Prepare(a.config())
	wantError(t, err, invalid, "32×1×1", "32×2×1", ".reqntid")
	if a.called(cu.FnCuLaunchKernel) || a.called(cu.FnCuLaunchKernelEx) {
		t.Error("something was launched")
	}
}

func TestPrepareRaisesTheSharedMemoryLimit(t *testing.T) {
	a := newAxpy(t)
	cfg := a.config()
	cfg.SharedMem = 100 << 10
	must(a.k.Prepare(cfg, a.args()...))(t)
	if a.shared != 100<<10 {
		t.Errorf("the limit was set to %d", a.shared)
	}
	a.shared = 0
	must(a.k.Prepare(cfg, a.args()...))(t)
	if a.shared != 0 {
		t.Error("the limit was set again")
	}
}

func TestLaunchOfClosedThingsIsRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		close func(a *axpyFake) error
		words []string
	}{
		{"buffer", func(a *axpyFake) error { return a.y.Close() }, []string{"argument 1 (y)", "buffer of float32"}},
		{"module", func(a *axpyFake) error { return a.m.Close() }, []string{"kernel axpy", "module"}},
		{"stream", func(a *axpyFake) error { return a.s.Close() }, []string{"stream"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAxpy(t)
			l := a.prepare(t)
			noError(t, test.close(a))
			wantError(t, a.s.Do(l), driver.ErrClosed, test.words...)
			wantError(t, l.Enqueue(a.s), driver.ErrClosed, test.words...)
			if a.called(cu.FnCuLaunchKernel) {
				t.Error("it was launched")
			}
		})
	}
	var none *driver.Launch
	wantError(t, none.Enqueue(nil), driver.CUDA_ERROR_INVALID_VALUE, "nil launch")
	wantError(t, driver.SetArg(none, 0, 1), driver.CUDA_ERROR_INVALID_VALUE, "nil launch")
}

func TestPrepareOfNilAndClosedKernels(t *testing.T) {
	var none *driver.Kernel
	_, err := none.Prepare(driver.LaunchConfig{})
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "nil kernel")
	wantError(t, none.Launch(nil, driver.LaunchConfig{}), driver.CUDA_ERROR_INVALID_VALUE, "nil kernel")
	a := newAxpy(t)
	noError(t, a.m.Close())
	_, err = a.k.Prepare(a.config(), a.args()...)
	wantError(t, err, driver.ErrClosed, "kernel axpy", "module")
}

func TestStreamOfAnotherContextIsRefused(t *testing.T) {
	a := newAxpy(t)
	other := must(a.c.Device().NewContext(0))(t)
	s := must(other.NewStream())(t)
	wantError(t, s.Do(a.prepare(t)), driver.CUDA_ERROR_INVALID_VALUE, "kernel axpy", "stream", "context")
	// Two retained primary contexts share one driver context.
	again := must(a.c.Device().PrimaryContext())(t)
	noError(t, must(again.NewStream())(t).Do(a.prepare(t)))
}

func TestBufferThatCannotBeReachedIsRefused(t *testing.T) {
	a := newAxpy(t)
	other := must(a.c.Device().NewContext(0))(t)
	far := must(driver.Alloc[float32](other, 64))(t)
	l := a.prepare(t)
	noError(t, driver.SetArg(l, 0, far)) // according to the driver, it is accessible
	a.reached = driver.CUDA_ERROR_INVALID_VALUE
	wantError(t, driver.SetArg(l, 1, far), driver.CUDA_ERROR_INVALID_VALUE, "(y)", "cannot be reached", "EnablePeerAccess")
	b := newAxpy(t)
	wantError(t, driver.SetArg(l, 0, b.x), driver.CUDA_ERROR_INVALID_VALUE, "(x)", "another driver")
}

// In a lost context, the driver cannot report whether memory is accessible. The error must not
// blame the argument.
func TestBufferOfAnotherContextWhenTheContextIsLost(t *testing.T) {
	a := newAxpy(t)
	other := must(a.c.Device().NewContext(0))(t)
	far := must(driver.Alloc[float32](other, 64))(t)
	l := a.prepare(t)
	a.reached = driver.CUDA_ERROR_ILLEGAL_ADDRESS
	args := a.args()
	args[0] = far
	_, prepared := a.k.Prepare(a.config(), args...)
	for _, err := range []error{driver.SetArg(l, 1, far), prepared} {
		wantError(t, err, driver.ErrContextLost, "argument", "cannot determine")
		wantError(t, err, driver.CUDA_ERROR_ILLEGAL_ADDRESS)
		if errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("%v is called an invalid value", err)
		}
	}
}

func TestBinaryKernelsAreCheckedBySize(t *testing.T) {
	f := newFakeDevice()
	f.kernels, f.params = []string{"k"}, []uintptr{8, 4}
	c := f.open(t)
	m := must(c.LoadModule(imagetest.Cubin(0)))(t)
	k := must(m.Kernel("k"))(t)
	if p, ok := k.Params(); !ok || len(p) != 2 || p[0].Size != 8 || p[1].Size != 4 {
		t.Errorf("parameters are %v, %v", p, ok)
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	b := must(driver.Alloc[byte](c, 1))(t)
	must(k.Prepare(cfg, b, float32(1)))(t)
	must(k.Prepare(cfg, b, int32(1)))(t)
	_, err := k.Prepare(cfg, b, 1.0)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 1", "4 bytes", "float64")
	_, err = k.Prepare(cfg, b)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "takes 2 arguments", "8 bytes, 4 bytes")
}

func TestUnknownParametersAreBelieved(t *testing.T) {
	f := newFakeDevice()
	delete(f.procs, cu.FnCuFuncGetParamInfo.Symbol())
	f.kernels, f.params = []string{"k"}, []uintptr{8, 4}
	c := f.open(t)
	m := must(c.LoadModule(imagetest.Cubin(0)))(t)
	k := must(m.Kernel("k"))(t)
	s := must(c.NewStream())(t)
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	b := must(driver.Alloc[byte](c, 1))(t)
	l := must(k.Prepare(cfg, b, float32(1)))(t)
	noError(t, s.Do(l))
	noError(t, driver.SetArg(l, 1, uint32(77)))
	noError(t, s.Do(l))
	if n := binary.LittleEndian.Uint32(f.launch.args[1]); n != 77 {
		t.Errorf("argument 1 is %d", n)
	}
	wantError(t, driver.SetArg(l, 1, 1.0), driver.CUDA_ERROR_INVALID_VALUE, "argument 1")
}

func TestLaunchReportsWhatItRefersTo(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	if refs := l.Uses().Refs; len(refs) != 3 || refs[1].Lifetime() != a.x.Ref().Lifetime() || refs[2].Lifetime() != a.y.Ref().Lifetime() {
		t.Errorf("it refers to %v", refs)
	}
	z := must(driver.Alloc[float32](a.c, 4))(t)
	noError(t, driver.SetArg(l, 0, z))
	if l.Uses().Refs[1].Lifetime() != z.Ref().Lifetime() {
		t.Error("the new argument is not referred to")
	}
	noError(t, driver.SetArg(l, 0, z.Ptr()))
	if l.Uses().Refs[1].Lifetime() == z.Ref().Lifetime() {
		t.Error("an address that replaced a buffer still refers to it")
	}
	noError(t, z.Close())
	noError(t, a.s.Do(l))
}

func TestLaunchReportsAccesses(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	noError(t, driver.SetArg(l, 0, driver.In(a.x)))
	want := []driver.Access{
		{Addr: uint64(a.x.Ptr()), Bytes: 256, Mode: driver.Reads, What: "x"},
		{Addr: uint64(a.y.Ptr()) + 32, Bytes: 32, Mode: driver.ReadsWrites, Arg: 1, What: "y"},
	}
	got := l.Uses().Accesses
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("accesses are %+v", got)
	}
	if got[0].Overlaps(got[1]) || got[0].Overlaps(got[0]) || !got[1].Overlaps(got[1]) {
		t.Error("overlaps are wrong")
	}
}

func TestKernelNodeParamsAreStable(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	p := &l.Block().Node
	before := *p
	noError(t, driver.SetArg(l, 2, float32(1)))
	if p != &l.Block().Node || *p != before || p.Func != a.k.Raw() || p.BlockDimX != 32 {
		t.Errorf("parameters changed from %+v to %+v", before, *p)
	}
}

func TestDeclaredHostMemoryIsNotAnArgument(t *testing.T) {
	a := newAxpy(t)
	h := must(driver.AllocHost[float32](a.c, 4))(t)
	l := a.prepare(t)
	wantError(t, driver.SetArg(l, 0, driver.In(h)), driver.CUDA_ERROR_INVALID_VALUE, "not device memory", "Device method")
	access, err := driver.Out(h).Access()
	if noError(t, err); access.Mode != driver.Writes || access.Bytes != 16 || !access.Host {
		t.Errorf("the access to page-locked memory is %+v", access)
	}
}

func TestArgIsSetLikeSetArg(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	n := must(driver.ArgOf[uint32](l, 3))(t)
	by := must(driver.ArgOf[shape](l, 4))(t)
	is := func(want uint32, first byte) {
		t.Helper()
		got := a.sent(t, l)
		if v := binary.LittleEndian.Uint32(got[3]); v != want || got[4][0] != first {
			t.Errorf("n is %d, want %d; the struct begins with %d, want %d", v, want, got[4][0], first)
		}
	}
	noError(t, n.Set(9))
	noError(t, by.Set(shape{7, 8, 9}))
	is(9, 7)
	cfg := l.Config()
	cfg.Grid.X++
	noError(t, l.SetConfig(cfg)) // ends the fast path for n without changing the argument
	noError(t, n.Set(10))
	is(10, 7)
	noError(t, driver.SetArg(l, 3, int32(11)))
	noError(t, n.Set(12))
	is(12, 7)
}

func TestArgIsCheckedWhenItIsMade(t *testing.T) {
	l := newAxpy(t).prepare(t)
	_, wide := driver.ArgOf[uint64](l, 3)
	_, beyond := driver.ArgOf[uint32](l, 99)
	var none driver.Arg[uint32]
	for _, err := range []error{wide, beyond, none.Set(1)} {
		if err == nil {
			t.Error("accepted")
		}
	}
	if !errors.Is(wide, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Error(wide)
	}
}

func TestTensorMapIsAlignedAsInC(t *testing.T) {
	for range 64 {
		if at := uintptr(unsafe.Pointer(cu.NewCUtensorMap())); at%128 != 0 {
			t.Fatalf("a tensor map lies at %#x", at)
		}
	}
}
