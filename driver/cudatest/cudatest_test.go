package cudatest_test

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
	"github.com/purecuda/cuda/graph"
)

//go:embed testdata/scale.ptx
var scalePTX []byte

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func closing[T interface{ Close() error }](t testing.TB, v T) T {
	t.Cleanup(func() { ok(t, v.Close()) })
	return v
}

// work holds a stream, and a kernel that doubles a buffer's elements.
type work struct {
	c      *driver.Context
	s      *driver.Stream
	x      *driver.Buffer[float32]
	launch *driver.Launch
}

func newWork(t testing.TB, c *driver.Context) *work {
	t.Helper()
	m := closing(t, must(c.LoadModule(scalePTX))(t))
	w := &work{c: c, s: closing(t, must(c.NewStream())(t)), x: closing(t, must(driver.Alloc[float32](c, 1024))(t))}
	k := must(m.Kernel("scale"))(t)
	w.launch = must(k.Prepare(driver.LaunchConfig{Grid: driver.D1(4), Block: driver.D1(256)}, w.x, float32(2), uint32(1024)))(t)
	return w
}

func (w *work) counts() cudatest.Counts { return cudatest.CountsOf(w.c.Driver()) }

// A replay of a graph counts as one graph launch, not as copies. The recorded work counts only in
// Recorded.
func TestAReplayIsOneGraphLaunch(t *testing.T) {
	w := newWork(t, cudatest.Device(t))
	pinned := closing(t, must(driver.AllocHost[float32](w.c, 1024))(t))
	up, down := must(driver.Upload[float32](w.x, pinned))(t), must(driver.Download[float32](pinned, w.x))(t)
	before := w.counts()
	g := closing(t, must(graph.Capture(w.s, graph.ModeThreadLocal, func(s *graph.Scope) error {
		for _, op := range []driver.Op{up, w.launch, w.launch, down} {
			if err := s.Do(op); err != nil {
				return err
			}
		}
		return nil
	}))(t))
	x := closing(t, must(g.Instantiate())(t))
	if n := w.counts().Since(before); n.Launches != 0 || n.Copies() != 0 || n.Recorded != 4 || n.Instantiations != 1 {
		t.Errorf("recording a step is %v", n)
	}
	for i := range pinned.Slice() {
		pinned.Slice()[i] = float32(i)
	}
	before = w.counts()
	ok(t, x.Launch(w.s))
	ok(t, w.s.Wait(context.Background()))
	n := w.counts().Since(before)
	if n.GraphLaunches != 1 || n.Launches != 0 || n.Copies() != 0 || n.BytesCopied() != 0 || n.Recorded != 0 {
		t.Errorf("a replay is %v", n)
	}
	if got := pinned.Slice()[7]; got != 28 {
		t.Errorf("element 7 is %v, want 28", got)
	}
}

func TestCallsAreCounted(t *testing.T) {
	c := cudatest.Device(t)
	w := newWork(t, c)
	host := make([]float32, 1024)
	scratch := must(driver.Alloc[byte](c, 4096))(t)
	pinned := closing(t, must(driver.AllocHost[float32](c, 256))(t))
	before := w.counts()
	ok(t, w.x.CopyFrom(host))
	ok(t, w.s.Do(w.launch))
	ok(t, w.s.Do(w.launch))
	ok(t, w.s.Do(must(driver.Upload[float32](w.x.View(0, 256), pinned))(t)))
	ok(t, w.s.Do(must(driver.CopyDevice[float32](w.x.View(0, 256), w.x.View(512, 768)))(t)))
	ok(t, w.s.HostFunc(func() {}))
	ok(t, c.Driver().CuStreamSynchronize(w.s.Raw()))
	ok(t, w.x.CopyTo(host))
	ok(t, scratch.Close())
	second := must(driver.Alloc[byte](c, 100))(t)
	ok(t, second.Close())
	if err := c.Driver().CuMemFree(1); err == nil { // a failed call does not count
		t.Error("memory that nobody allocated was freed")
	}
	got := w.counts().Since(before)
	want := cudatest.Counts{Calls: got.Calls, Launches: 2, HostToDevice: cudatest.Amount{Count: 2, Bytes: 5120},
		DeviceToHost: cudatest.Amount{Count: 1, Bytes: 4096}, DeviceToDevice: cudatest.Amount{Count: 1, Bytes: 1024},
		HostFunctions: 1, Waits: got.Waits, Allocations: cudatest.Amount{Count: 1, Bytes: 100}, Frees: 2}
	if got != want {
		t.Errorf("counted %v\nwanted  %v", got, want)
	}
	if got.Waits == 0 || got.Waits > 5 { // one explicit wait, plus those in synchronous copies
		t.Errorf("%d waits", got.Waits)
	}
	if got.Calls < 12 {
		t.Errorf("%d calls in all", got.Calls)
	}
}

func TestEmulatorIsAskedForMore(t *testing.T) {
	c := cudatest.Device(t, cudatest.OnEmulator(), cudatest.WithConfig(emulator.Config{Profile: true, CostModel: emulator.H200()}))
	w := newWork(t, c)
	ok(t, w.x.Fill(1))
	ok(t, w.s.Do(w.launch))
	ok(t, w.s.Wait(t.Context()))
	e := cudatest.Emulator(c.Driver())
	p := e.Profile("scale")
	if p.Launches != 1 || p.Opcodes["mul.f32"].Lanes != 1024 || p.Opcodes["bra"].Lanes != 0 {
		t.Errorf("profile of the kernel: %+v", p)
	}
	if p.Global.Loads.Coalesced != 32 || p.Global.Loads.Transactions != p.Global.Loads.Ideal {
		t.Errorf("loads: %+v", p.Global.Loads)
	}
	if took := e.SimulatedTime(); took <= 0 || took > time.Millisecond {
		t.Errorf("simulated time %v", took)
	}
}

func TestTraceShowsCalls(t *testing.T) {
	var text bytes.Buffer
	var r trace.Recorder
	c := cudatest.Device(t, cudatest.WithTraceTo(&text), cudatest.WithTrace(r.Sink()))
	closing(t, must(driver.Alloc[byte](c, 77))(t))
	if r.Count(cu.FnCuMemAlloc) != 1 || !strings.Contains(text.String(), "bytesize=77") {
		t.Errorf("traced:\n%s", &text)
	}
}

func TestDevicesAreAsManyAsAskedFor(t *testing.T) {
	d := cudatest.Driver(t, cudatest.WithDevices(2))
	n := must(d.DeviceCount())(t)
	if n < 2 {
		t.Fatalf("%d devices", n)
	}
	for i := range 2 {
		cudatest.Context(t, d, i)
	}
}

// recorded is a testing.TB that records failures instead of failing.
type recorded struct {
	testing.TB
	errors   []string
	cleanups []func()
}

func (r *recorded) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorded) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorded) Failed() bool     { return len(r.errors) > 0 }

// end runs the cleanups, as package testing does at the end of a test.
func (r *recorded) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

func TestLeaksFailTheTest(t *testing.T) {
	r := &recorded{TB: t}
	c := cudatest.Device(r)
	b := must(driver.Alloc[float32](c, 8))(t)
	r.end()
	all := strings.Join(r.errors, "\n")
	if len(r.errors) == 0 || !strings.Contains(all, "buffer of float32") || !strings.Contains(all, "TestLeaksFailTheTest") {
		t.Errorf("a buffer that is open was reported as:\n%s", all)
	}
	_ = b.Close() // closing the context has already freed the memory
}

// Only the emulator can report objects that raw functions created.
func TestRawLeaksFailTheTest(t *testing.T) {
	r := &recorded{TB: t}
	c := cudatest.Device(r, cudatest.OnEmulator())
	var p driver.CUdeviceptr
	ok(t, c.Driver().CuMemAlloc(&p, 64))
	r.end()
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "of 64 bytes") {
		t.Errorf("memory that was not freed was reported as %q", r.errors)
	}
}

func TestDroppedObjectsFailTheTest(t *testing.T) {
	c := cudatest.Device(t)
	func() { must(c.NewEvent())(t) }()
	leaks := cudatest.ExpectDropped(t, c.Device().Driver(), 1)
	if len(leaks) != 1 || leaks[0].Kind != "event" {
		t.Errorf("dropped: %v", leaks)
	}
}

func TestNothingIsDroppedWithoutADriver(t *testing.T) {
	for _, d := range []*driver.Driver{nil, {}} {
		r := &recorded{TB: t}
		if leaks := cudatest.ExpectDropped(r, d, 1); len(leaks) != 0 || len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], "there is no driver") {
			t.Errorf("dropped: %v, errors: %q", leaks, r.errors)
		}
	}
}

// fatal is a recorded test whose Fatalf ends the goroutine.
type fatal struct{ recorded }

func (f *fatal) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// The environment variable must be a number. Any other value fails the test. Otherwise, the test
// would run without the required GPU.
func TestWhatTheEnvironmentDemandsIsANumber(t *testing.T) {
	for value, want := range map[string]int{"": 0, "0": 0, "1": 1, "3": 3} {
		t.Setenv(cudatest.RequireGPU, value)
		if got := cudatest.Required(t); got != want {
			t.Errorf("%q demands %d GPUs, want %d", value, got, want)
		}
	}
	for _, value := range []string{"yes", "1x", "-", "1.5"} {
		t.Setenv(cudatest.RequireGPU, value)
		f := &fatal{recorded{TB: t}}
		var wait sync.WaitGroup
		wait.Go(func() { cudatest.Required(f) })
		wait.Wait()
		if len(f.errors) != 1 || !strings.Contains(f.errors[0], value) {
			t.Errorf("%q: %q", value, f.errors)
		}
	}
}

// A test that requires one GPU must not run on the emulator. Without a GPU, the test must fail.
func TestARequiredGPUIsNotEmulated(t *testing.T) {
	t.Setenv(cudatest.RequireGPU, "1")
	f := &fatal{recorded{TB: t}}
	var d *driver.Driver
	var wait sync.WaitGroup
	wait.Go(func() { d = cudatest.Driver(f) })
	wait.Wait()
	switch {
	case d != nil && cudatest.Emulator(d) != nil:
		t.Error("the driver is an emulator")
	case d == nil && (len(f.errors) != 1 || !strings.Contains(f.errors[0], cudatest.RequireGPU+"=1: ")):
		t.Errorf("without a driver, the failures are %q", f.errors)
	case d == nil && strings.Contains(f.errors[0], "%+v"):
		t.Errorf("the failure does not list the libraries that were tried: %s", f.errors[0])
	}
	f.end()
}

// Copies are counted by the kinds of memory that they specify. The number of bytes in a 2D or 3D
// copy is the product of its dimensions.
func TestCopiesOfEveryShapeAreCounted(t *testing.T) {
	c := cudatest.Device(t)
	s := closing(t, must(c.NewStream())(t))
	a, b := closing(t, must(driver.Alloc[byte](c, 4096))(t)), closing(t, must(driver.Alloc[byte](c, 4096))(t))
	ok(t, a.Fill(1))
	ok(t, b.Fill(2))
	host := make([]byte, 4096)
	d := c.Driver()
	const onDevice, onHost = cu.CU_MEMORYTYPE_DEVICE, cu.CU_MEMORYTYPE_HOST
	before := cudatest.CountsOf(d)
	ok(t, d.CuMemcpy2D(&cu.CUDA_MEMCPY2D{SrcMemoryType: onDevice, SrcDevice: a.Ptr(), SrcPitch: 64,
		DstMemoryType: onHost, DstHost: unsafe.Pointer(&host[0]), DstPitch: 64, WidthInBytes: 32, Height: 3}))
	ok(t, d.CuMemcpy3D(&cu.CUDA_MEMCPY3D{SrcMemoryType: onHost, SrcHost: unsafe.Pointer(&host[0]), SrcPitch: 64, SrcHeight: 4,
		DstMemoryType: onDevice, DstDevice: b.Ptr(), DstPitch: 64, DstHeight: 4, WidthInBytes: 16, Height: 3, Depth: 5}))
	ok(t, d.CuMemcpy3DPeer(&cu.CUDA_MEMCPY3D_PEER{SrcMemoryType: onDevice, SrcDevice: a.Ptr(), SrcContext: c.Raw(), SrcPitch: 64, SrcHeight: 4,
		DstMemoryType: onDevice, DstDevice: b.Ptr(), DstContext: c.Raw(), DstPitch: 64, DstHeight: 4, WidthInBytes: 7, Height: 2, Depth: 3}))
	op := cu.CUDA_MEMCPY3D_BATCH_OP{SrcAccessOrder: cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, Extent: cu.CUextent3D{Width: 8, Height: 5, Depth: 3}}
	for side, at := range map[*cu.CUmemcpy3DOperand]driver.CUdeviceptr{&op.Src: a.Ptr(), &op.Dst: b.Ptr()} {
		side.Type = cu.CU_MEMCPY_OPERAND_TYPE_POINTER
		*side.Op.Ptr() = cu.CUmemcpy3DOperand_v1_Op_Ptr{Ptr: at, LocHint: cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}}
	}
	ok(t, d.CuMemcpy3DBatchAsync(1, &op, 0, s.Raw()))
	sources, sizes := []driver.CUdeviceptr{a.Ptr(), a.Ptr() + 64}, []uintptr{16, 20}
	targets, first := []driver.CUdeviceptr{b.Ptr(), b.Ptr() + 64}, uintptr(0)
	attrs := cu.CUmemcpyAttributes{SrcAccessOrder: cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}
	ok(t, d.CuMemcpyBatchAsync(&targets[0], &sources[0], &sizes[0], 2, &attrs, &first, 1, s.Raw()))
	ok(t, c.Synchronize(context.Background()))
	got := cudatest.CountsOf(d).Since(before)
	for what, n := range map[string][2]cudatest.Amount{
		"to the host":   {got.DeviceToHost, {Count: 1, Bytes: 96}},
		"to the device": {got.HostToDevice, {Count: 1, Bytes: 240}},
		"on the device": {got.DeviceToDevice, {Count: 1, Bytes: 42}},
		"of no kind":    {got.Unified, {Count: 3, Bytes: 156}},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: counted %v, want %v", what, n[0], n[1])
		}
	}
}

// This test runs only on the emulator, because cuMemcpy3DPeer in driver 580 dereferences the nil
// pointer and crashes the process.
func TestCopiesOfNothingAreNotCounted(t *testing.T) {
	d := cudatest.Device(t, cudatest.OnEmulator()).Driver()
	before := cudatest.CountsOf(d)
	if d.CuMemcpy3DPeer(nil) == nil || d.CuMemcpy3D(nil) == nil {
		t.Error("a copy of nothing was made")
	}
	if got := cudatest.CountsOf(d).Since(before); got.DeviceToDevice.Count != 0 {
		t.Errorf("counted %v", got.DeviceToDevice)
	}
}

func TestTheEmulatorOfADriverIsFound(t *testing.T) {
	e := emulator.New(emulator.Config{})
	d := must(driver.New(e))(t)
	if cudatest.Emulator(d) != e {
		t.Error("it is another one, or none")
	}
	if got := cudatest.Emulator(must(driver.New(trace.Wrap(e)))(t)); got != nil {
		t.Errorf("inside a trace wrapper: %v", got)
	}
	ok(t, d.Close())
}
