package emulator_test

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// onGPU makes the tests of shared behaviour run on the real driver, to verify that the emulator
// behaves in the same way. Tests of the emulator's own functions then do not run at all.
var onGPU = os.Getenv("PURECUDA_TEST_DRIVER") == "system"

type rig struct {
	*driver.Driver
	t   *testing.T
	emu *emulator.Emulator // nil on a GPU
	dev cu.CUdevice
	ctx cu.CUcontext

	forgive bool // set if the test leaks on purpose
}

// newRig opens the driver under test. At the end of the test, no object may be open, unless the
// test has caused a sticky error.
func newRig(t *testing.T) *rig { return newRigWith(t, emulator.Config{}) }

func newRigWith(t *testing.T, cfg emulator.Config) *rig {
	t.Helper()
	runtime.LockOSThread()
	r := &rig{t: t}
	if onGPU {
		lib, err := cu.SystemLibrary("")
		if err != nil {
			t.Fatal(err)
		}
		if r.Driver, err = driver.New(gputest.Record(t, lib)); err != nil {
			t.Fatal(err)
		}
		r.ok(r.CuInit(0))
	} else {
		r.emu = emulator.New(cfg)
		d, err := driver.New(gputest.Record(t, r.emu))
		if err != nil {
			t.Fatal(err)
		}
		r.Driver = d
		r.ok(d.CuInit(0))
	}
	r.ok(r.CuDeviceGet(&r.dev, 0))
	r.ok(r.CuDevicePrimaryCtxRetain(&r.ctx, r.dev))
	r.ok(r.CuCtxSetCurrent(r.ctx))
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	defer runtime.UnlockOSThread()
	if r.t.Failed() {
		r.CuDevicePrimaryCtxReset(r.dev)
	}
	r.CuCtxSetCurrent(0)
	if err := r.CuDevicePrimaryCtxRelease(r.dev); err != nil && !r.forgive {
		r.t.Error("release of the primary context:", err)
	}
	if r.emu == nil {
		return
	}
	if err := r.emu.Close(); err != nil {
		r.t.Error(err)
	}
	if !r.t.Failed() && !r.forgive {
		for _, l := range r.emu.Leaks() {
			r.t.Error("leaked:", l)
		}
	}
}

func (r *rig) ok(err error) {
	if err != nil {
		r.t.Helper()
		r.t.Fatal(err)
	}
}

func code(err error) cu.CUresult {
	if err == nil {
		return 0
	}
	var e *cu.Error
	if errors.As(err, &e) && !e.Missing {
		return e.Result
	}
	return 0xffff
}

func (r *rig) want(what string, err error, want cu.CUresult) {
	if got := code(err); got != want {
		r.t.Helper()
		r.t.Errorf("%s: got %v (%d), want %v (%d)", what, got, uint32(got), want, uint32(want))
	}
}

func (r *rig) module(ptx string) cu.CUmodule {
	r.t.Helper()
	image := append([]byte(ptx), 0)
	var m cu.CUmodule
	r.ok(r.CuModuleLoadData(&m, unsafe.Pointer(&image[0])))
	r.t.Cleanup(func() { r.CuModuleUnload(m) })
	return m
}

func (r *rig) function(m cu.CUmodule, name string) cu.CUfunction {
	r.t.Helper()
	var f cu.CUfunction
	r.ok(r.CuModuleGetFunction(&f, m, cstr(name)))
	return f
}

func (r *rig) kernel(name string) cu.CUfunction {
	r.t.Helper()
	return r.function(r.module(testPTX), name)
}

func cstr(s string) *byte { b := append([]byte(s), 0); return &b[0] }

// alloc allocates zeroed device memory, which is freed at the end of the test.
func (r *rig) alloc(bytes int) cu.CUdeviceptr {
	r.t.Helper()
	var p cu.CUdeviceptr
	r.ok(r.CuMemAlloc(&p, uintptr(bytes)))
	r.t.Cleanup(func() { r.CuMemFree(p) })
	r.ok(r.CuMemsetD8(p, 0, uintptr(bytes)))
	r.ok(r.CuCtxSynchronize())
	return p
}

// stream creates a non-blocking stream, which is destroyed at the end of the test.
func (r *rig) stream() cu.CUstream { return r.streamWith(cu.CU_STREAM_NON_BLOCKING) }

func (r *rig) streamWith(flags cu.CUstream_flags) cu.CUstream {
	r.t.Helper()
	var s cu.CUstream
	r.ok(r.CuStreamCreate(&s, uint32(flags)))
	r.t.Cleanup(func() { r.CuStreamDestroy(s) })
	return s
}

func (r *rig) event(flags cu.CUevent_flags) cu.CUevent {
	r.t.Helper()
	var e cu.CUevent
	r.ok(r.CuEventCreate(&e, uint32(flags)))
	r.t.Cleanup(func() { r.CuEventDestroy(e) })
	return e
}

func (r *rig) graph() cu.CUgraph {
	r.t.Helper()
	var g cu.CUgraph
	r.ok(r.CuGraphCreate(&g, 0))
	r.t.Cleanup(func() { r.CuGraphDestroy(g) })
	return g
}

func (r *rig) instantiate(g cu.CUgraph) cu.CUgraphExec {
	r.t.Helper()
	var x cu.CUgraphExec
	r.ok(r.CuGraphInstantiate(&x, g, 0))
	r.t.Cleanup(func() { r.CuGraphExecDestroy(x) })
	return x
}

// read waits for all work and copies words back to the host.
func (r *rig) read(p cu.CUdeviceptr, n int) []uint32 {
	r.t.Helper()
	r.ok(r.CuCtxSynchronize())
	out := make([]uint32, n)
	r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&out[0]), p, uintptr(n*4)))
	return out
}

func (r *rig) wantWords(what string, p cu.CUdeviceptr, want ...uint32) {
	r.t.Helper()
	got := r.read(p, len(want))
	for i := range want {
		if got[i] != want[i] {
			r.t.Errorf("%s: got %v, want %v", what, got, want)
			return
		}
	}
}

// launchParams holds kernel arguments in memory that does not move.
type launchParams struct {
	ptr  uint64
	a, b uint32
	list [3]unsafe.Pointer
}

func args(p cu.CUdeviceptr, a, b uint32) *unsafe.Pointer {
	l := &launchParams{ptr: uint64(p), a: a, b: b}
	l.list = [3]unsafe.Pointer{unsafe.Pointer(&l.ptr), unsafe.Pointer(&l.a), unsafe.Pointer(&l.b)}
	return &l.list[0]
}

func (r *rig) launch(f cu.CUfunction, s cu.CUstream, p cu.CUdeviceptr, a, b uint32) error {
	return r.CuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args(p, a, b), nil)
}

func kernelNode(f cu.CUfunction, p cu.CUdeviceptr, a, b uint32) *cu.CUDA_KERNEL_NODE_PARAMS {
	return &cu.CUDA_KERNEL_NODE_PARAMS{
		Func: f, GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1,
		KernelParams: args(p, a, b),
	}
}

func (r *rig) addKernel(g cu.CUgraph, f cu.CUfunction, p cu.CUdeviceptr, a, b uint32, deps ...cu.CUgraphNode) cu.CUgraphNode {
	r.t.Helper()
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddKernelNode(&n, g, first(deps), uintptr(len(deps)), kernelNode(f, p, a, b)))
	return n
}

// first returns the address of a slice's first element, or nil if the slice is empty.
func first[T any](s []T) *T {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}

// gate blocks a stream until the host opens the gate.
type gate struct {
	r    *rig
	flag *uint32
	p    cu.CUdeviceptr
}

func (r *rig) gate() *gate {
	r.t.Helper()
	var host unsafe.Pointer
	r.ok(r.CuMemHostAlloc(&host, 4, cu.CU_MEMHOSTALLOC_DEVICEMAP))
	g := &gate{r: r, flag: (*uint32)(host)}
	r.ok(r.CuMemHostGetDevicePointer(&g.p, host, 0))
	r.t.Cleanup(func() {
		g.open()
		r.CuMemFreeHost(host)
	})
	return g
}

func (g *gate) block(s cu.CUstream) {
	g.r.t.Helper()
	g.r.ok(g.r.CuStreamWaitValue32(s, g.p, 1, uint32(cu.CU_STREAM_WAIT_VALUE_EQ)))
}

// settle waits for all work, so that the next step begins with idle streams.
func (r *rig) settle() {
	r.t.Helper()
	r.ok(r.CuCtxSynchronize())
}

// elsewhere runs f on another OS thread with the same context.
func (r *rig) elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		if err := r.CuCtxSetCurrent(r.ctx); err != nil {
			r.t.Error(err)
			return
		}
		f()
	}()
	<-done
}

func (g *gate) open() { atomic.StoreUint32(g.flag, 1) }

func (g *gate) isOpen() bool { return atomic.LoadUint32(g.flag) != 0 }

// testPTX contains kernels with the parameters (p *u32, a u32, b u32).
const testPTX = `
.version 7.0
.target sm_70
.address_size 64

.global .align 4 .u32 counter = 7;
.const .align 4 .u32 limit = 9;

// p[a] = b
.visible .entry store(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [a];
	ld.param.u32 %r2, [b];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r2;
	ret;
}

// p[a] += b
.visible .entry add(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [a];
	ld.param.u32 %r2, [b];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	add.u32 %r4, %r3, %r2;
	st.global.u32 [%rd3], %r4;
	ret;
}

// p[a] = 2 * p[a] + b: the result shows its order with other launches
.visible .entry shift(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [a];
	ld.param.u32 %r2, [b];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	add.u32 %r4, %r3, %r3;
	add.u32 %r4, %r4, %r2;
	st.global.u32 [%rd3], %r4;
	ret;
}

.visible .entry broken(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	mov.u64 %rd1, 64;
	mov.u32 %r1, 1;
	st.global.u32 [%rd1], %r1;
	ret;
}

.visible .entry trapped(.param .u64 p, .param .u32 a, .param .u32 b)
{
	trap;
	ret;
}

.visible .entry bounded(.param .u64 p, .param .u32 a, .param .u32 b)
.maxntid 64, 1, 1
{
	ret;
}

.visible .entry required(.param .u64 p, .param .u32 a, .param .u32 b)
.reqntid 64, 1, 1
{
	ret;
}

.visible .entry nothing()
{
	ret;
}
`
