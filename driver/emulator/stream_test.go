package emulator_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
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
	r.ok(r.launch(shift, 0, p, 0, 2))        // after the blocking stream
	r.ok(r.launch(shift, blocking, p, 0, 3)) // after the legacy stream
	r.want("legacy stream", r.CuStreamQuery(0), cu.CUDA_ERROR_NOT_READY)
	r.ok(r.launch(shift, free, p, 0, 0)) // does not wait
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
	if !onGPU { // a driver may wait in the destruction
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
	r.ok(r.CuEventSynchronize(a)) // its time must not include a late start
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
