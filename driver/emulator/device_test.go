package emulator_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

func TestDeviceSaysThatItIsEmulated(t *testing.T) {
	r := newRig(t)
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	name := make([]byte, 100)
	r.ok(r.CuDeviceGetName(&name[0], 100, r.dev))
	if !strings.Contains(string(name), "emulator") || !strings.Contains(r.Library().Name(), "emulator") {
		t.Errorf("device %q of library %q does not say that it is emulated", name, r.Library().Name())
	}
}

func TestFunctionsBeforeInitAreRefused(t *testing.T) {
	emu := emulator.New(emulator.Config{})
	defer emu.Close()
	d, err := cu.New(emu)
	if err != nil {
		t.Fatal(err)
	}
	var n int32
	if got := code(d.CuDeviceGetCount(&n)); got != cu.CUDA_ERROR_NOT_INITIALIZED {
		t.Errorf("before cuInit: %v", got)
	}
	if got := code(d.CuInit(1)); got != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("cuInit with flags: %v", got)
	}
}

func TestNoDeviceIsAnErrorOfInit(t *testing.T) {
	emu := emulator.New(emulator.Config{Devices: -1})
	defer emu.Close()
	d, err := cu.New(emu)
	if err != nil {
		t.Fatal(err)
	}
	if got := code(d.CuInit(0)); got != cu.CUDA_ERROR_NO_DEVICE {
		t.Errorf("cuInit without devices: %v", got)
	}
}

func TestEveryAttributeIsAnswered(t *testing.T) {
	r := newRig(t)
	for a := cu.CUdevice_attribute(1); a < cu.CU_DEVICE_ATTRIBUTE_MAX; a++ {
		var v int32
		if err := r.CuDeviceGetAttribute(&v, a, r.dev); err != nil && !onGPU {
			t.Errorf("attribute %v: %v", a, err)
		} else if onGPU {
			t.Logf("%v = %d (%v)", a, v, err)
		}
	}
	var v int32
	r.want("attribute 0", r.CuDeviceGetAttribute(&v, 0, r.dev), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("device 99", r.CuDeviceGetAttribute(&v, 1, 99), cu.CUDA_ERROR_INVALID_DEVICE)
	var dev cu.CUdevice
	r.want("get device 99", r.CuDeviceGet(&dev, 99), cu.CUDA_ERROR_INVALID_DEVICE)
	r.want("get device -1", r.CuDeviceGet(&dev, -1), cu.CUDA_ERROR_INVALID_DEVICE)
}

func TestErrorNames(t *testing.T) {
	r := newRig(t)
	var p *byte
	r.ok(r.CuGetErrorName(cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, &p))
	if p == nil {
		t.Error("no name")
	}
	r.want("name of 12345", r.CuGetErrorName(12345, &p), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestContextStack(t *testing.T) {
	r := newRig(t)
	var ctx, got cu.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	r.ok(r.CuCtxGetCurrent(&got))
	if got != ctx {
		t.Error("a created context is not current")
	}
	r.ok(r.CuCtxPopCurrent(&got))
	if got != ctx {
		t.Error("pop answered another context")
	}
	r.ok(r.CuCtxGetCurrent(&got))
	if got != r.ctx {
		t.Error("the primary context is not current again")
	}
	r.ok(r.CuCtxDestroy(ctx))
	r.want("create with bad flags", r.CuCtxCreate(&ctx, nil, 0x8000, r.dev), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestNoContextIsCurrentOnAnotherThread(t *testing.T) {
	r := newRig(t)
	s, ev, p := r.stream(), r.event(0), r.alloc(4)
	add := r.kernel("add")
	r.elsewhere(func() {
		var ctx cu.CUcontext
		var q cu.CUdeviceptr
		r.ok(r.CuCtxSetCurrent(0))
		r.ok(r.CuCtxGetCurrent(&ctx))
		if ctx != 0 {
			t.Errorf("a context is current: %#x", ctx)
		}
		r.want("alloc", r.CuMemAlloc(&q, 4), cu.CUDA_ERROR_INVALID_CONTEXT)
		r.want("free of nothing known", r.CuMemFree(p+1<<40), cu.CUDA_ERROR_INVALID_VALUE)
		r.want("event create", r.CuEventCreate(&ev, 0), cu.CUDA_ERROR_INVALID_CONTEXT)
		r.want("null stream", r.CuStreamSynchronize(0), cu.CUDA_ERROR_INVALID_CONTEXT)
		r.want("synchronize", r.CuCtxSynchronize(), cu.CUDA_ERROR_INVALID_CONTEXT)
		r.want("launch by handle", r.launch(add, s, p, 0, 1), 0)
		r.want("stream sync by handle", r.CuStreamSynchronize(s), 0)
		r.want("record by handle", r.CuEventRecord(ev, s), 0)
		r.want("wait event by handle", r.CuStreamWaitEvent(s, ev, 0), 0)
		r.want("memset by handle", r.CuMemsetD32Async(p, 0, 1, s), 0)
		r.want("event sync by handle", r.CuEventSynchronize(ev), 0)
		r.want("query by handle", r.CuEventQuery(ev), 0)
	})
}

func TestDestroyedContextIsRefused(t *testing.T) {
	r := newRig(t)
	var ctx cu.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	r.elsewhere(func() {
		r.ok(r.CuCtxSetCurrent(ctx))
		done := make(chan error)
		go func() { done <- r.CuCtxDestroy(ctx) }()
		r.ok(<-done)
		var p cu.CUdeviceptr
		r.want("alloc", r.CuMemAlloc(&p, 4), cu.CUDA_ERROR_CONTEXT_IS_DESTROYED)
	})
	var got cu.CUcontext
	r.ok(r.CuCtxPopCurrent(&got))
}

func TestContextLimitsAndConfigs(t *testing.T) {
	r := newRig(t)
	var v uintptr
	r.ok(r.CuCtxGetLimit(&v, cu.CU_LIMIT_STACK_SIZE))
	r.ok(r.CuCtxSetLimit(cu.CU_LIMIT_STACK_SIZE, v))
	r.want("limit 77", r.CuCtxGetLimit(&v, 77), cu.CUDA_ERROR_INVALID_VALUE)
	var least, greatest int32
	r.ok(r.CuCtxGetStreamPriorityRange(&least, &greatest))
	if least != 0 || greatest >= 0 {
		t.Errorf("priorities %d to %d", least, greatest)
	}
	var s cu.CUstream
	r.ok(r.CuStreamCreateWithPriority(&s, 1, -100))
	var p int32
	r.ok(r.CuStreamGetPriority(s, &p))
	if p != greatest {
		t.Errorf("priority %d is not clamped to %d", p, greatest)
	}
	r.ok(r.CuStreamDestroy(s))
}

func TestSeveralDevicesAndPeers(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	r := newRigWith(t, emulator.Config{Devices: 2})
	var n, can int32
	r.ok(r.CuDeviceGetCount(&n))
	r.ok(r.CuDeviceCanAccessPeer(&can, 0, 1))
	if n != 2 || can != 1 {
		t.Fatalf("%d devices, peer access %d", n, can)
	}
	p := r.alloc(8)
	r.ok(r.CuMemsetD32(p, 5, 2))
	var other cu.CUcontext
	r.ok(r.CuCtxCreate(&other, nil, 0, 1))
	t.Cleanup(func() { r.ok(r.CuCtxDestroy(other)) })
	q := r.alloc(8)
	r.ok(r.CuMemcpyPeer(q, other, p, r.ctx, 8))
	r.wantWords("peer copy", q, 5, 5)
	r.ok(r.CuCtxEnablePeerAccess(r.ctx, 0))
	r.want("again", r.CuCtxEnablePeerAccess(r.ctx, 0), cu.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
	r.ok(r.launch(r.kernel("add"), 0, p, 0, 1))
	r.ok(r.CuCtxSynchronize()) // wait, because the running kernel needs the peer access
	r.ok(r.CuCtxDisablePeerAccess(r.ctx))
	r.want("again", r.CuCtxDisablePeerAccess(r.ctx), cu.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)
}

func TestDeviceAttributesThatAreNotTold(t *testing.T) {
	r := newRig(t)
	var v int32
	r.want("an attribute that is none", r.CuDeviceGetAttribute(&v, 0, r.dev), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("a device that is none", r.CuDeviceGetAttribute(&v, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99), cu.CUDA_ERROR_INVALID_DEVICE)
	r.want("no place for the value", r.CuDeviceGetAttribute(nil, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, r.dev), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("no place and no device", r.CuDeviceGetAttribute(nil, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestOldQueriesOfADeviceAgreeWithItsAttributes(t *testing.T) {
	r := newRig(t)
	attr := func(a cu.CUdevice_attribute) (v int32) {
		t.Helper()
		r.ok(r.CuDeviceGetAttribute(&v, a, r.dev))
		return v
	}
	var major, minor int32
	r.ok(r.CuDeviceComputeCapability(&major, &minor, r.dev))
	if major != attr(cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) || minor != attr(cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
		t.Errorf("compute capability %d.%d", major, minor)
	}
	var p cu.CUdevprop
	r.ok(r.CuDeviceGetProperties(&p, r.dev))
	want := cu.CUdevprop{
		MaxThreadsPerBlock: attr(cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
		MaxThreadsDim: [3]int32{attr(cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), attr(cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
			attr(cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
		MaxGridSize: [3]int32{attr(cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), attr(cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
			attr(cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
		SharedMemPerBlock: attr(cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), TotalConstantMemory: attr(cu.CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
		SIMDWidth: attr(cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE), MemPitch: attr(cu.CU_DEVICE_ATTRIBUTE_MAX_PITCH),
		RegsPerBlock: attr(cu.CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK), ClockRate: attr(cu.CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
		TextureAlign: attr(cu.CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
	}
	if p != want {
		t.Errorf("properties %+v, want %+v", p, want)
	}
	var affinity int32
	r.ok(r.CuDeviceGetExecAffinitySupport(&affinity, cu.CU_EXEC_AFFINITY_TYPE_SM_COUNT, r.dev))
	const none = cu.CUDA_ERROR_INVALID_DEVICE
	r.want("the capability of no device", r.CuDeviceComputeCapability(&major, &minor, 77), none)
	r.want("the properties of no device", r.CuDeviceGetProperties(&p, 77), none)
	r.want("the affinity of no device", r.CuDeviceGetExecAffinitySupport(&affinity, cu.CU_EXEC_AFFINITY_TYPE_SM_COUNT, 77), none)
	id := make([]byte, 32)
	r.want("the bus of no device", r.CuDeviceGetPCIBusId(&id[0], int32(len(id)), 77), none)
	r.ok(r.CuDeviceGetPCIBusId(&id[0], int32(len(id)), r.dev))
	var again cu.CUdevice = -1
	r.ok(r.CuDeviceGetByPCIBusId(&again, &id[0]))
	if again != r.dev || !bytes.Contains(id, []byte(":")) {
		t.Errorf("bus %q is of device %d", id, again)
	}
}

// cuCtxGetDevice must return the device of any context, not only that of the current context.
func TestADeviceOfAContextIsTold(t *testing.T) {
	r := newRigWith(t, emulator.Config{Devices: 2})
	if r.emu == nil {
		t.Skip("about two devices of the emulator")
	}
	var second cu.CUdevice
	r.ok(r.CuDeviceGet(&second, 1))
	var ctx cu.CUcontext
	r.ok(r.CuDevicePrimaryCtxRetain(&ctx, second))
	for of, want := range map[cu.CUcontext]cu.CUdevice{r.ctx: r.dev, ctx: second} {
		var dev cu.CUdevice = -1
		r.ok(r.CuCtxGetDevice_v2(&dev, of))
		if dev != want {
			t.Errorf("context %#x is of device %d, want %d", of, dev, want)
		}
	}
	var pool, other cu.CUmemoryPool
	at := cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}
	at.Id = int32(second)
	props := cu.CUmemPoolProps{AllocType: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: at}
	r.ok(r.CuMemPoolCreate(&pool, &props))
	r.ok(r.CuMemSetMemPool(&at, cu.CU_MEM_ALLOCATION_TYPE_PINNED, pool))
	r.ok(r.CuMemGetMemPool(&other, &at, cu.CU_MEM_ALLOCATION_TYPE_PINNED))
	if other != pool {
		t.Errorf("the pool of device 1 is %#x, want %#x", other, pool)
	}
	at.Id = 0
	r.want("the pool of another device", r.CuMemSetMemPool(&at, cu.CU_MEM_ALLOCATION_TYPE_PINNED, pool), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemGetMemPool(&other, &at, cu.CU_MEM_ALLOCATION_TYPE_PINNED))
	if other == pool {
		t.Error("device 0 has the pool of device 1")
	}
	r.ok(r.CuMemPoolDestroy(pool))
	r.ok(r.CuDevicePrimaryCtxRelease(second))
}

func TestTheFirstInstantiationExplainsInALog(t *testing.T) {
	r := newRig(t)
	if r.emu == nil {
		t.Skip("the words are the emulator's")
	}
	g := r.graph()
	r.handle(g, 0) // no node uses this handle
	for _, size := range []int{0, 1, 5, 200} {
		log := bytes.Repeat([]byte{0xee}, size+8)
		var x cu.CUgraphExec
		var bad cu.CUgraphNode
		err := r.CuGraphInstantiate_v11000(&x, g, &bad, &log[0], uintptr(size))
		if code(err) == 0 || x != 0 {
			t.Fatalf("a graph with a handle for nothing: %v", err)
		}
		if !bytes.Equal(log[size:], bytes.Repeat([]byte{0xee}, 8)) || size > 0 && !slices.Contains(log[:size], 0) {
			t.Errorf("a log of %d bytes holds %q", size, log)
		}
	}
}

func TestAHandleForNothingInABodyIsRefused(t *testing.T) {
	r := newRig(t)
	g := r.graph()
	body := r.conditional(g, ifNode, 1, r.handle(g, 0))[0]
	var x cu.CUgraphExec
	r.ok(r.CuGraphInstantiate(&x, g, 0))
	r.ok(r.CuGraphExecDestroy(x))
	r.handle(body, 0)
	if err := r.CuGraphInstantiate(&x, g, 0); code(err) == 0 {
		t.Error("instantiated")
	}
}

func TestHandlesThatAreNoneAreRefusedByEnqueueing(t *testing.T) {
	r := newRig(t)
	if r.emu == nil {
		t.Skip("a driver does not survive these")
	}
	p, s := r.alloc(64), r.stream()
	g := r.graph()
	n := r.addKernel(g, r.kernel("add"), p, 0, 1)
	x := r.instantiate(g)
	const none = 0xdead0
	b := make([]byte, 64)
	for what, err := range map[string]error{
		"a fill in no stream":            r.CuMemsetD8Async(p, 0, 64, none),
		"a copy in no stream":            r.CuMemcpyDtoHAsync(unsafe.Pointer(&b[0]), p, 64, none),
		"an upload of nothing":           r.CuGraphUpload(none, s),
		"an upload in no stream":         r.CuGraphUpload(x, none),
		"a launch of nothing":            r.CuGraphLaunch(none, s),
		"a launch in no stream":          r.CuGraphLaunch(x, none),
		"a kernel in no stream":          r.launch(r.kernel("add"), none, p, 0, 1),
		"a parameter of no kernel":       r.CuParamSetv(none, 0, unsafe.Pointer(&b[0]), 4),
		"the state of a node of nothing": r.CuGraphNodeGetEnabled(none, n, new(uint32)),
		"an allocation in no stream":     r.CuMemAllocAsync(new(cu.CUdeviceptr), 64, none),
		"a free in no stream":            r.CuMemFreeAsync(p, none),
	} {
		if c := code(err); c != cu.CUDA_ERROR_INVALID_HANDLE && c != cu.CUDA_ERROR_INVALID_VALUE && c != cu.CUDA_ERROR_CONTEXT_IS_DESTROYED {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestNodesOfAnExecutableTellWhetherTheyAreEnabled(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(8), r.stream()
	g := r.graph()
	first := r.addKernel(g, r.kernel("add"), p, 0, 1)
	second := r.addKernel(g, r.kernel("add"), p, 1, 1, first)
	x := r.instantiate(g)
	enabled := func(n cu.CUgraphNode) uint32 {
		v := uint32(7)
		r.ok(r.CuGraphNodeGetEnabled(x, n, &v))
		return v
	}
	if enabled(first) != 1 || enabled(second) != 1 {
		t.Error("a node is disabled from the beginning")
	}
	r.ok(r.CuGraphNodeSetEnabled(x, second, 0))
	if enabled(first) != 1 || enabled(second) != 0 {
		t.Errorf("enabled %d and %d, want 1 and 0", enabled(first), enabled(second))
	}
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("with one of two", p, 1, 0)
	r.ok(r.CuGraphNodeSetEnabled(x, second, 1))
	if enabled(second) != 1 {
		t.Error("it is not enabled again")
	}
}

func TestEdgesThatCannotBeAreRefused(t *testing.T) {
	r := newRig(t)
	p := r.alloc(8)
	g := r.graph()
	a := r.addKernel(g, r.kernel("add"), p, 0, 1)
	var empty, n cu.CUgraphNode
	r.ok(r.CuGraphAddEmptyNode(&empty, g, nil, 0))
	for _, e := range []cu.CUgraphEdgeData{{Type: 9}, {Type: 1}, {To_port: 1}, {From_port: 9}, {Reserved: [5]byte{1}}} {
		params := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_EMPTY}
		r.want("a node", r.CuGraphAddNode(&n, g, &a, &e, 1, params), cu.CUDA_ERROR_INVALID_VALUE)
		r.want("a dependency", r.CuGraphAddDependencies(g, &a, &empty, &e, 1), cu.CUDA_ERROR_INVALID_VALUE)
	}
	count := uintptr(99)
	r.ok(r.CuGraphGetNodes(g, nil, &count))
	if count != 2 {
		t.Errorf("%d nodes, want 2", count)
	}
}

// What a kernel reads from special registers agrees with the attributes of the device. The thread may be interrupted
// between reading the two timers, so more cycles may pass than the attribute says, but never fewer.
func TestSpecialRegistersAgreeWithAttributes(t *testing.T) {
	if onGPU {
		t.Skip("a GPU's clock can be slower than its attribute")
	}
	for _, capability := range [][2]int{{9, 0}, {8, 6}} { // with 64 and 48 warps in a multiprocessor
		r := newRigWith(t, emulator.Config{ComputeCapability: capability, Multiprocessors: 7})
		attr := func(a cu.CUdevice_attribute) (v int32) {
			t.Helper()
			r.ok(r.CuDeviceGetAttribute(&v, a, r.dev))
			return v
		}
		f := r.function(r.module(`
.version 6.0
.target sm_52
.address_size 64
.visible .entry k(.param .u64 out)
{
	.reg .pred %p;
	.reg .u32 %r<3>;
	.reg .u64 %rd<6>;
	ld.param.u64 %rd1, [out];
	mov.u64 %rd2, %clock64;
	mov.u64 %rd3, %globaltimer;
wait:
	mov.u64 %rd4, %globaltimer;
	sub.u64 %rd4, %rd4, %rd3;
	setp.lt.u64 %p, %rd4, 1000000;
	@%p bra wait;
	mov.u64 %rd5, %clock64;
	sub.u64 %rd5, %rd5, %rd2;
	mov.u32 %r1, %nsmid;
	mov.u32 %r2, %nwarpid;
	st.global.v2.u64 [%rd1], {%rd4, %rd5};
	st.global.v2.u32 [%rd1+16], {%r1, %r2};
	ret;
}`), "k")
		out := r.alloc(24)
		args := []unsafe.Pointer{unsafe.Pointer(&out)}
		r.ok(r.CuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, &args[0], nil))
		r.ok(r.CuCtxSynchronize())
		var got struct {
			nanoseconds, cycles uint64
			nsmid, nwarpid      int32
		}
		r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&got), out, 24))
		if rate := float64(got.cycles) / float64(got.nanoseconds) * 1e6; rate < 0.99*float64(attr(cu.CU_DEVICE_ATTRIBUTE_CLOCK_RATE)) {
			t.Errorf("sm_%d%d: %.0f kHz, want %d", capability[0], capability[1], rate, attr(cu.CU_DEVICE_ATTRIBUTE_CLOCK_RATE))
		}
		if want := attr(cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); got.nsmid != want {
			t.Errorf("sm_%d%d: %d multiprocessors, want %d", capability[0], capability[1], got.nsmid, want)
		}
		if want := attr(cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32; got.nwarpid != want {
			t.Errorf("sm_%d%d: %d warps in a multiprocessor, want %d", capability[0], capability[1], got.nwarpid, want)
		}
	}
}
