package emulator_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

func TestStreamsRunInOrder(t *testing.T) {
	r := newRig(t)
	p, s, shift := r.alloc(4), r.stream(), r.kernel("shift")
	want := uint32(0)
	for i := range uint32(20) {
		r.ok(r.launch(shift, s, p, 0, i))
		want = 2*want + i
	}
	r.wantWords("order", p, want)
}

func TestStreamsAreAsynchronous(t *testing.T) {
	r := newRig(t)
	p, s, other := r.alloc(8), r.stream(), r.stream()
	add := r.kernel("add")
	g := r.gate()
	g.block(s)
	r.ok(r.launch(add, s, p, 0, 1))
	r.want("blocked stream", r.CuStreamQuery(s), cu.CUDA_ERROR_NOT_READY)
	r.ok(r.launch(add, other, p, 1, 1))
	r.ok(r.CuStreamSynchronize(other))
	r.want("other stream", r.CuStreamQuery(other), 0)
	r.want("blocked stream still", r.CuStreamQuery(s), cu.CUDA_ERROR_NOT_READY)
	g.open()
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("both", p, 1, 1)
}

func TestLegacyStreamIsOrderedWithBlockingStreams(t *testing.T) {
	r := newRig(t)
	p := r.alloc(4)
	shift := r.kernel("shift")
	blocking, free := r.streamWith(0), r.stream()
	g := r.gate()
	g.block(blocking)
	r.ok(r.launch(shift, blocking, p, 0, 1))
	r.ok(r.launch(shift, 0, p, 0, 2))        // ordered after the blocking stream
	r.ok(r.launch(shift, blocking, p, 0, 3)) // ordered after the legacy stream
	r.want("legacy stream", r.CuStreamQuery(0), cu.CUDA_ERROR_NOT_READY)
	r.ok(r.launch(shift, free, p, 0, 0)) // not ordered after the legacy stream
	r.ok(r.CuStreamSynchronize(free))
	g.open()
	r.wantWords("order", p, 2*(2*1+2)+3)
}

func TestPerThreadStreamIsOfItsThread(t *testing.T) {
	r := newRig(t)
	p := r.alloc(4)
	shift := r.kernel("shift")
	g := r.gate()
	g.block(cu.CU_STREAM_PER_THREAD)
	r.ok(r.launch(shift, cu.CU_STREAM_PER_THREAD, p, 0, 1))
	r.elsewhere(func() {
		r.want("another thread's", r.CuStreamQuery(cu.CU_STREAM_PER_THREAD), 0)
	})
	r.want("this thread's", r.CuStreamQuery(cu.CU_STREAM_PER_THREAD), cu.CUDA_ERROR_NOT_READY)
	g.open()
	r.ok(r.CuStreamSynchronize(cu.CU_STREAM_PER_THREAD))
	r.wantWords("per thread", p, 1)
}

func TestStreamHandles(t *testing.T) {
	r := newRig(t)
	var s cu.CUstream
	r.want("flags", r.CuStreamCreate(&s, 8), cu.CUDA_ERROR_INVALID_VALUE)
	s = r.stream()
	var flags uint32
	r.ok(r.CuStreamGetFlags(s, &flags))
	var ctx cu.CUcontext
	r.ok(r.CuStreamGetCtx(s, &ctx))
	var id, legacyID uint64
	r.ok(r.CuStreamGetId(s, &id))
	r.ok(r.CuStreamGetId(0, &legacyID))
	if flags != 1 || ctx != r.ctx || id == legacyID {
		t.Errorf("flags %d, context %#x, ids %d and %d", flags, ctx, id, legacyID)
	}
	if onGPU {
		t.Skip("a driver does not survive these")
	}
	r.want("no stream", r.CuStreamSynchronize(0xdead0), cu.CUDA_ERROR_INVALID_HANDLE)
	r.want("destroy of no stream", r.CuStreamDestroy(0xdead0), cu.CUDA_ERROR_INVALID_HANDLE)
	r.want("no event", r.CuEventRecord(0xdead0, s), cu.CUDA_ERROR_INVALID_HANDLE)
	r.want("no module", r.CuModuleUnload(0xdead0), cu.CUDA_ERROR_INVALID_HANDLE)
}

func TestDestroyedStreamFinishesItsWork(t *testing.T) {
	r := newRig(t)
	p, add := r.alloc(4), r.kernel("add")
	var s cu.CUstream
	r.ok(r.CuStreamCreate(&s, 1))
	g := r.gate()
	g.block(s)
	r.ok(r.launch(add, s, p, 0, 7))
	ev := r.event(0)
	r.ok(r.CuEventRecord(ev, s))
	if !onGPU { // a driver may wait when it destroys the stream
		r.ok(r.CuStreamDestroy(s))
	}
	g.open()
	r.ok(r.CuEventSynchronize(ev))
	r.wantWords("work", p, 7)
	if onGPU {
		r.ok(r.CuStreamDestroy(s))
	}
}

func TestEvents(t *testing.T) {
	r := newRig(t)
	s, a, b := r.stream(), r.event(0), r.event(0)
	untimed := r.event(cu.CU_EVENT_DISABLE_TIMING)
	r.want("query before a record", r.CuEventQuery(a), 0)
	r.want("wait before a record", r.CuEventSynchronize(a), 0)
	var ms float32
	r.want("elapsed before a record", r.CuEventElapsedTime(&ms, a, b), cu.CUDA_ERROR_INVALID_HANDLE)
	g := r.gate()
	r.ok(r.CuEventRecord(a, s))
	r.ok(r.CuEventSynchronize(a)) // otherwise the time would include a late start
	g.block(s)
	r.ok(r.CuEventRecord(b, s))
	r.ok(r.CuEventRecord(untimed, s))
	r.want("query of what is pending", r.CuEventQuery(b), cu.CUDA_ERROR_NOT_READY)
	r.want("elapsed of what is pending", r.CuEventElapsedTime(&ms, a, b), cu.CUDA_ERROR_NOT_READY)
	time.Sleep(5 * time.Millisecond)
	g.open()
	r.ok(r.CuEventSynchronize(b))
	r.ok(r.CuEventElapsedTime(&ms, a, b))
	if ms < 4 || ms > 10000 {
		t.Errorf("%v ms", ms)
	}
	r.ok(r.CuEventSynchronize(untimed))
	r.want("elapsed without timing", r.CuEventElapsedTime(&ms, a, untimed), cu.CUDA_ERROR_INVALID_HANDLE)
	var ev cu.CUevent
	r.want("flags", r.CuEventCreate(&ev, 0x100), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("interprocess with timing", r.CuEventCreate(&ev, uint32(cu.CU_EVENT_INTERPROCESS)), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("external record outside a capture", r.CuEventRecordWithFlags(a, s, 1), cu.CUDA_ERROR_ILLEGAL_STATE)
}

func TestStreamWaitsForEvent(t *testing.T) {
	r := newRig(t)
	p, shift := r.alloc(4), r.kernel("shift")
	a, b, ev := r.stream(), r.stream(), r.event(cu.CU_EVENT_DISABLE_TIMING)
	g := r.gate()
	g.block(a)
	r.ok(r.launch(shift, a, p, 0, 1))
	r.ok(r.CuEventRecord(ev, a))
	r.ok(r.CuStreamWaitEvent(b, ev, 0))
	r.ok(r.launch(shift, b, p, 0, 5))
	r.want("waiting stream", r.CuStreamQuery(b), cu.CUDA_ERROR_NOT_READY)
	g.open()
	r.ok(r.CuStreamSynchronize(b))
	r.wantWords("order", p, 7)
	r.want("flags", r.CuStreamWaitEvent(b, ev, 4), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestHostFunctionsRunInOrderAndMayNotCallCUDA(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	var seen []uintptr
	var inside error
	fn := cu.CUhostFn(loader.NewCallback(func(data uintptr) {
		seen = append(seen, data)
		var p cu.CUdeviceptr
		inside = r.CuMemAlloc(&p, 16)
	}))
	tokens := []byte{1, 2, 3}
	g := r.gate()
	g.block(s)
	for i := range tokens {
		r.ok(r.CuLaunchHostFunc(s, fn, unsafe.Pointer(&tokens[i])))
	}
	if len(seen) != 0 {
		t.Error("ran too early")
	}
	g.open()
	r.ok(r.CuStreamSynchronize(s))
	if len(seen) != 3 || seen[1] != seen[0]+1 || seen[2] != seen[1]+1 {
		t.Errorf("ran with %x", seen)
	}
	r.want("CUDA in a host function", inside, cu.CUDA_ERROR_NOT_PERMITTED)
	r.want("no function", r.CuLaunchHostFunc(s, 0, nil), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestMemoryOperations(t *testing.T) {
	r := newRig(t)
	p, a, b := r.alloc(16), r.stream(), r.stream()
	r.ok(r.CuStreamWaitValue32(a, p, 5, uint32(cu.CU_STREAM_WAIT_VALUE_GEQ)))
	r.ok(r.CuStreamWriteValue32(a, p+4, 1, 0))
	r.want("waiting", r.CuStreamQuery(a), cu.CUDA_ERROR_NOT_READY)
	r.ok(r.CuStreamWriteValue32(b, p, 6, 0))
	r.ok(r.CuStreamSynchronize(a))
	r.ok(r.CuStreamWriteValue64(b, p+8, 1<<32|3, 0))
	r.wantWords("values", p, 6, 1, 3, 1)
	r.want("misaligned", r.CuStreamWriteValue32(b, p+2, 6, 0), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestFaultPoisonsTheContext(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	p, ev := r.alloc(4), r.event(0)
	broken, add := r.kernel("broken"), r.kernel("add")
	r.ok(r.launch(broken, s, p, 0, 0))
	const fault = cu.CUDA_ERROR_ILLEGAL_ADDRESS
	r.want("synchronize", r.CuStreamSynchronize(s), fault)
	r.want("synchronize again", r.CuStreamSynchronize(s), fault)
	r.want("launch", r.launch(add, s, p, 0, 1), fault)
	var q cu.CUdeviceptr
	r.want("alloc", r.CuMemAlloc(&q, 4), fault)
	r.want("event", r.CuEventRecord(ev, s), fault)
	r.want("context", r.CuCtxSynchronize(), fault)
	var free, total uintptr
	r.want("info", r.CuMemGetInfo(&free, &total), fault)
	var cur cu.CUcontext
	r.want("current", r.CuCtxGetCurrent(&cur), 0)
	var limit uintptr
	r.want("limit", r.CuCtxGetLimit(&limit, 0), fault)
	r.want("graph", func() error {
		var g cu.CUgraph
		defer func() { r.CuGraphDestroy(g) }()
		return r.CuGraphCreate(&g, 0)
	}(), 0)
	if r.emu != nil && r.emu.LastFault() == "" {
		t.Error("no report")
	}
	r.want("another context", r.CuCtxCreate(&cur, nil, 0, r.dev), fault)
	r.want("reset", r.CuDevicePrimaryCtxReset(r.dev), 0)
	r.want("retain after the reset", r.CuDevicePrimaryCtxRetain(&cur, r.dev), fault)
}

func TestTrapIsALaunchFailure(t *testing.T) {
	r := newRig(t)
	r.ok(r.launch(r.kernel("trapped"), 0, r.alloc(4), 0, 0))
	r.want("trap", r.CuCtxSynchronize(), cu.CUDA_ERROR_LAUNCH_FAILED)
}

// All existing streams in a context, including the legacy stream, must wait for the event. Work
// enqueued earlier must not wait.
func TestAContextWaitsForAnEvent(t *testing.T) {
	r := newRig(t)
	p, shift := r.alloc(8), r.kernel("shift")
	a, b, c, ev := r.stream(), r.stream(), r.stream(), r.event(cu.CU_EVENT_DISABLE_TIMING)
	r.ok(r.CuCtxWaitEvent(r.ctx, ev)) // ev was never recorded
	r.want("after an event that was not recorded", r.CuStreamQuery(b), 0)
	g := r.gate()
	g.block(a)
	r.ok(r.launch(shift, a, p, 0, 1))
	r.ok(r.CuEventRecord(ev, a))
	r.ok(r.CuCtxWaitEvent(r.ctx, ev))
	r.ok(r.launch(shift, b, p, 0, 5))
	r.want("a stream of the context", r.CuStreamQuery(b), cu.CUDA_ERROR_NOT_READY)
	r.want("another one", r.CuStreamQuery(c), cu.CUDA_ERROR_NOT_READY)
	g.open()
	r.ok(r.CuStreamSynchronize(b))
	r.wantWords("order", p, 7)
}

func TestAnEventIsRecordedForAContext(t *testing.T) {
	r := newRig(t)
	a, b, ev := r.stream(), r.stream(), r.event(0)
	g := r.gate()
	g.block(a)
	r.ok(r.CuCtxRecordEvent(r.ctx, ev))
	r.want("with work of a stream left", r.CuEventQuery(ev), cu.CUDA_ERROR_NOT_READY)
	r.want("a stream without work", r.CuStreamQuery(b), 0)
	g.open()
	r.ok(r.CuEventSynchronize(ev))
	r.want("the stream that the event waited for", r.CuStreamQuery(a), 0)
}

// Events recorded for a context must order two streams, even if the work has ended before the order
// is requested.
func TestEventsOfContextsOrderStreams(t *testing.T) {
	for name, between := range map[string]func(r *rig, a, b cu.CUstream){
		"a wait of the context": func(r *rig, a, b cu.CUstream) {
			ev := r.event(0)
			r.ok(r.CuEventRecord(ev, a))
			r.ok(r.CuCtxWaitEvent(r.ctx, ev))
		},
		"a wait of the context for what is over": func(r *rig, a, b cu.CUstream) {
			ev := r.event(0)
			r.ok(r.CuEventRecord(ev, a))
			r.quietlyPassed(a)
			r.ok(r.CuCtxWaitEvent(r.ctx, ev))
		},
		"an event of the context": func(r *rig, a, b cu.CUstream) {
			ev := r.event(0)
			r.ok(r.CuCtxRecordEvent(r.ctx, ev))
			r.ok(r.CuStreamWaitEvent(b, ev, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := checkedRig(t, emulator.CheckGlobalRaces)
			p, a, b := r.alloc(256), r.stream(), r.stream()
			r.start("count", a, 1, 64, p, 0, true)
			between(r, a, b)
			r.start("count", b, 1, 64, p, 0, true)
			r.settle()
			for _, f := range r.emu.Findings() {
				t.Errorf("found %v", f)
			}
		})
	}
}

func TestEventsOfContextsThatAreRefused(t *testing.T) {
	r := newRig(t)
	s, ev := r.stream(), r.event(0)
	r.ok(r.CuStreamBeginCapture(s, global))
	r.want("a record while capturing", r.CuCtxRecordEvent(r.ctx, ev), unsupported)
	r.want("the end", r.endCapture(s), invalidated)
	r.ok(r.CuStreamBeginCapture(s, global))
	r.want("a wait while capturing", r.CuCtxWaitEvent(r.ctx, ev), unsupported)
	r.want("the end", r.endCapture(s), invalidated)
	if onGPU {
		t.Skip("a driver does not survive these")
	}
	r.want("a wait for no event", r.CuCtxWaitEvent(r.ctx, 0xdead0), cu.CUDA_ERROR_INVALID_HANDLE)
	r.want("a record of no event", r.CuCtxRecordEvent(r.ctx, 0xdead0), cu.CUDA_ERROR_INVALID_HANDLE)
}

// A descriptor that does not name a semaphore must fail with the result of driver 580.
func TestImportOfNoSemaphore(t *testing.T) {
	r := newRig(t)
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD}
	*d.Handle.Fd() = 1 << 20
	var s cu.CUexternalSemaphore
	r.want("import", r.CuImportExternalSemaphore(&s, &d), cu.CUDA_ERROR_UNKNOWN)
}

func TestExternalSemaphoreNodes(t *testing.T) {
	if onGPU {
		t.Skip("there is no other API here to make a semaphore")
	}
	r := newRig(t)
	theirs, err := r.emu.NewSemaphore(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)
	r.ok(err)
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD}
	*d.Handle.Fd() = int32(theirs.Export())
	sems := make([]cu.CUexternalSemaphore, 1)
	r.ok(r.CuImportExternalSemaphore(&sems[0], &d))
	if n := len(r.emu.Leaks()); n != 2 { // two leaks: the semaphore and the primary context
		t.Errorf("%d leaks while it is open", n)
	}
	signal := []cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS{{}}
	wait := []cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS{{}}
	signal[0].Params.Fence.Value, wait[0].Params.Fence.Value = 2, 2
	sp := cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{ExtSemArray: &sems[0], ParamsArray: &signal[0], NumExtSems: 1}
	wp := cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{ExtSemArray: &sems[0], ParamsArray: &wait[0], NumExtSems: 1}
	var g cu.CUgraph
	r.ok(r.CuGraphCreate(&g, 0))
	var s, w cu.CUgraphNode
	r.ok(r.CuGraphAddExternalSemaphoresSignalNode(&s, g, nil, 0, &sp))
	r.ok(r.CuGraphAddExternalSemaphoresWaitNode(&w, g, &s, 1, &wp))
	r.want("signal's parameters of a wait", r.CuGraphExternalSemaphoresSignalNodeGetParams(w, &sp), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("no semaphores", r.CuGraphExternalSemaphoresWaitNodeSetParams(w, &cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{}), cu.CUDA_ERROR_INVALID_VALUE)
	var x cu.CUgraphExec
	r.ok(r.CuGraphInstantiateWithFlags(&x, g, 0))
	r.ok(r.CuGraphLaunch(x, 0))
	r.ok(r.CuStreamSynchronize(0))
	if theirs.Value() != 2 {
		t.Errorf("the value is %d", theirs.Value())
	}
	r.ok(r.CuGraphExecDestroy(x))
	r.ok(r.CuGraphDestroy(g))
	r.ok(r.CuDestroyExternalSemaphore(sems[0]))
	r.want("destroyed twice", r.CuDestroyExternalSemaphore(sems[0]), cu.CUDA_ERROR_INVALID_HANDLE)
}

func TestCloseEndsAWaitForASemaphore(t *testing.T) {
	e := emulator.New(emulator.Config{})
	d, err := driver.New(e)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := e.NewSemaphore(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := c.ImportSemaphoreFD(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, int(theirs.Export()))
	if err != nil {
		t.Fatal(err)
	}
	wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LegacyStream().Do(wait); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil { // returns only after the wait has ended
		t.Error(err)
	}
}

// The emulator must accept the same edge data between nodes as driver 580. A removal without edge
// data must remove any edge.
func TestEdgeDataBetweenNodes(t *testing.T) {
	r := newRig(t)
	m := r.module(edgeKernel)
	var f cu.CUfunction
	name := []byte("k\x00")
	r.ok(r.CuModuleGetFunction(&f, m, &name[0]))
	const ok, bad = cu.CUDA_SUCCESS, cu.CUDA_ERROR_INVALID_VALUE
	for _, test := range []struct {
		data                                cu.CUgraphEdgeData
		kernelKernel, kernelEmpty, toKernel cu.CUresult
	}{
		{cu.CUgraphEdgeData{}, ok, ok, ok},
		{cu.CUgraphEdgeData{From_port: 1}, bad, bad, bad},
		{cu.CUgraphEdgeData{From_port: 2}, ok, ok, bad},
		{cu.CUgraphEdgeData{From_port: 3}, bad, bad, bad},
		{cu.CUgraphEdgeData{Type: 1}, bad, bad, bad},
		{cu.CUgraphEdgeData{Type: 1, From_port: 1}, ok, bad, bad},
		{cu.CUgraphEdgeData{Type: 1, From_port: 2}, ok, bad, bad},
		{cu.CUgraphEdgeData{Type: 1, From_port: 3}, bad, bad, bad},
	} {
		var g cu.CUgraph
		r.ok(r.CuGraphCreate(&g, 0))
		p := cu.CUDA_KERNEL_NODE_PARAMS{Func: f, GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1}
		var a, b, c cu.CUgraphNode
		r.ok(r.CuGraphAddKernelNode(&a, g, nil, 0, &p))
		r.ok(r.CuGraphAddKernelNode(&b, g, nil, 0, &p))
		r.ok(r.CuGraphAddEmptyNode(&c, g, nil, 0))
		r.want("kernel to kernel", r.CuGraphAddDependencies(g, &a, &b, &test.data, 1), test.kernelKernel)
		r.want("kernel to empty", r.CuGraphAddDependencies(g, &a, &c, &test.data, 1), test.kernelEmpty)
		r.want("empty to kernel", r.CuGraphAddDependencies(g, &c, &b, &test.data, 1), test.toKernel)
		if test.kernelKernel == ok {
			r.want("removal without data", r.CuGraphRemoveDependencies(g, &a, &b, nil, 1), ok)
		}
		r.ok(r.CuGraphDestroy(g))
	}
}

const edgeKernel = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n"

func TestTheContextOfAStreamIsToldWithoutAGreenOne(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	ctx, green := cu.CUcontext(1), cu.CUgreenCtx(1)
	r.ok(r.CuStreamGetCtx_v2(s, &ctx, &green))
	if ctx != r.ctx || green != 0 {
		t.Errorf("context %#x, green context %#x", ctx, green)
	}
}

// A wait node must wait for work that another stream had in flight when the graph was launched.
func TestWaitNodesWaitForOtherStreams(t *testing.T) {
	r := newRig(t)
	p, q, a, b := r.alloc(4), r.alloc(4), r.stream(), r.stream()
	add, ev, gate := r.kernel("add"), r.event(cu.CU_EVENT_DISABLE_TIMING), r.gate()
	r.ok(r.CuMemsetD32(p, 1, 1))
	g := r.graph()
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddEventWaitNode(&n, g, nil, 0, ev))
	move := cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: p, DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: q,
		WidthInBytes: 4, Height: 1, Depth: 1,
	}
	r.ok(r.CuGraphAddMemcpyNode(new(cu.CUgraphNode), g, &n, 1, &move, r.ctx))
	x := r.instantiate(g)
	r.ok(r.CuGraphUpload(x, b))
	r.ok(r.launch(add, a, p, 0, 1))
	r.settle()
	gate.block(a)
	r.ok(r.launch(add, a, p, 0, 5))
	r.ok(r.CuEventRecord(ev, a))
	r.ok(r.CuGraphLaunch(x, b))
	r.want("the graph before the event", r.CuStreamQuery(b), cu.CUDA_ERROR_NOT_READY)
	gate.open()
	r.wantWords("the copy after the event", q, 1+1+5)
}
