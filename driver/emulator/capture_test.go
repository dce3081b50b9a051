package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

const (
	global      = cu.CU_STREAM_CAPTURE_MODE_GLOBAL
	threadLocal = cu.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
	relaxed     = cu.CU_STREAM_CAPTURE_MODE_RELAXED

	unsupported = cu.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	invalidated = cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
)

func (r *rig) endCapture(s cu.CUstream) error {
	var g cu.CUgraph
	err := r.CuStreamEndCapture(s, &g)
	if err != nil && g != 0 {
		r.t.Errorf("a failed capture left graph %#x", g)
	}
	if g != 0 {
		r.ok(r.CuGraphDestroy(g))
	}
	return err
}

func (r *rig) captured(s cu.CUstream, f func()) cu.CUgraph {
	r.t.Helper()
	r.ok(r.CuStreamBeginCapture(s, threadLocal))
	f()
	var g cu.CUgraph
	r.ok(r.CuStreamEndCapture(s, &g))
	r.t.Cleanup(func() { r.CuGraphDestroy(g) })
	return g
}

func (r *rig) nodes(g cu.CUgraph) []cu.CUgraphNode {
	r.t.Helper()
	var n uintptr
	r.ok(r.CuGraphGetNodes(g, nil, &n))
	out := make([]cu.CUgraphNode, n)
	if n > 0 {
		r.ok(r.CuGraphGetNodes(g, &out[0], &n))
	}
	return out
}

func (r *rig) edgeCount(g cu.CUgraph) int {
	r.t.Helper()
	var n uintptr
	r.ok(r.CuGraphGetEdges(g, nil, nil, nil, &n))
	return int(n)
}

func (r *rig) status(s cu.CUstream) cu.CUstreamCaptureStatus {
	r.t.Helper()
	var st cu.CUstreamCaptureStatus
	r.ok(r.CuStreamIsCapturing(s, &st))
	return st
}

func TestCapturedWorkRunsWhenTheGraphIsLaunched(t *testing.T) {
	r := newRig(t)
	p, s, shift := r.alloc(4), r.stream(), r.kernel("shift")
	g := r.captured(s, func() {
		r.ok(r.CuMemsetD32Async(p, 1, 1, s))
		r.ok(r.launch(shift, s, p, 0, 1))
		r.ok(r.launch(shift, s, p, 0, 2))
	})
	r.wantWords("nothing has run", p, 0)
	if n, m := len(r.nodes(g)), r.edgeCount(g); n != 3 || m != 2 {
		t.Fatalf("%d nodes and %d edges", n, m)
	}
	x := r.instantiate(g)
	r.ok(r.CuGraphUpload(x, s))
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("launched", p, 8)
	if r.emu != nil {
		if st := r.emu.Stats(); st.GraphLaunches != 1 || st.Launches != 2 {
			t.Errorf("%+v", st)
		}
	}
}

func TestBeginAndEndRefuse(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	var g cu.CUgraph
	r.want("legacy stream", r.CuStreamBeginCapture(0, global), unsupported)
	r.want("mode", r.CuStreamBeginCapture(s, 3), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("end without begin", r.CuStreamEndCapture(s, &g), cu.CUDA_ERROR_ILLEGAL_STATE)
	r.ok(r.CuStreamBeginCapture(s, global))
	r.want("begin twice", r.CuStreamBeginCapture(s, global), cu.CUDA_ERROR_ILLEGAL_STATE)
	r.want("and it goes on", r.endCapture(s), 0)
	r.ok(r.CuStreamBeginCapture(cu.CU_STREAM_PER_THREAD, global))
	r.want("per-thread stream", r.endCapture(cu.CU_STREAM_PER_THREAD), 0)
}

func TestCaptureEndsOnItsThread(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	for _, mode := range []cu.CUstreamCaptureMode{global, threadLocal} {
		r.ok(r.CuStreamBeginCapture(s, mode))
		r.elsewhere(func() {
			r.want("end on another thread", r.endCapture(s), cu.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
		})
		r.want("which ended it", r.endCapture(s), cu.CUDA_ERROR_ILLEGAL_STATE)
	}
	r.ok(r.CuStreamBeginCapture(s, relaxed))
	r.elsewhere(func() { r.want("relaxed end on another thread", r.endCapture(s), 0) })
}

func TestOtherThreadsRecord(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	for _, mode := range []cu.CUstreamCaptureMode{global, threadLocal, relaxed} {
		r.ok(r.CuStreamBeginCapture(s, mode))
		r.elsewhere(func() { r.want(mode.String()+": launch from another thread", r.launch(add, s, p, 0, 1), 0) })
		r.want(mode.String()+": end", r.endCapture(s), 0)
	}
}

func TestCapturingStreamCanNotBeWaitedFor(t *testing.T) {
	r := newRig(t)
	s, p := r.stream(), r.alloc(4)
	for what, call := range map[string]func() error{
		"query": func() error { return r.CuStreamQuery(s) },
		"wait":  func() error { return r.CuStreamSynchronize(s) },
	} {
		r.ok(r.CuStreamBeginCapture(s, relaxed))
		r.want(what, call(), unsupported)
		if st := r.status(s); st != cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED {
			t.Errorf("%s: status %v", what, st)
		}
		r.want(what+": work", r.CuMemsetD8Async(p, 0, 1, s), invalidated)
		r.want(what+": end", r.endCapture(s), invalidated)
		r.want(what+": stream works again", r.CuStreamSynchronize(s), 0)
	}
}

func TestCapturedEventCanNotBeWaitedFor(t *testing.T) {
	r := newRig(t)
	s, ev := r.stream(), r.event(0)
	for what, call := range map[string]func() error{
		"query": func() error { return r.CuEventQuery(ev) },
		"wait":  func() error { return r.CuEventSynchronize(ev) },
	} {
		r.ok(r.CuStreamBeginCapture(s, relaxed))
		r.ok(r.CuEventRecord(ev, s))
		r.want(what, call(), cu.CUDA_ERROR_CAPTURED_EVENT)
		r.want(what+": end", r.endCapture(s), invalidated)
		r.want(what+": after the capture", call(), cu.CUDA_ERROR_INVALID_VALUE)
		r.ok(r.CuEventRecord(ev, s))
		r.ok(r.CuStreamSynchronize(s))
		r.want(what+": recorded again", call(), 0)
	}
}

func TestForkAndJoin(t *testing.T) {
	r := newRig(t)
	p, add := r.alloc(12), r.kernel("add")
	a, b := r.stream(), r.stream()
	fork, join := r.event(2), r.event(2)
	g := r.captured(a, func() {
		r.ok(r.launch(add, a, p, 0, 1))
		r.ok(r.CuEventRecord(fork, a))
		r.ok(r.CuStreamWaitEvent(b, fork, 0))
		if r.status(b) != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
			t.Error("the second stream did not join the capture")
		}
		r.ok(r.launch(add, b, p, 1, 1))
		r.ok(r.launch(add, a, p, 2, 1))
		r.ok(r.CuEventRecord(join, b))
		r.ok(r.CuStreamWaitEvent(a, join, 0))
		r.ok(r.launch(add, a, p, 0, 1))
	})
	if n, m := len(r.nodes(g)), r.edgeCount(g); n != 4 || m != 4 {
		t.Errorf("%d nodes and %d edges", n, m)
	}
	if r.status(b) != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		t.Error("the second stream is still capturing")
	}
	r.ok(r.CuGraphLaunch(r.instantiate(g), a))
	r.ok(r.CuStreamSynchronize(a))
	r.wantWords("diamond", p, 2, 1, 1)
}

func TestUnjoinedStreamIsAnError(t *testing.T) {
	r := newRig(t)
	p, add := r.alloc(4), r.kernel("add")
	a, b, fork := r.stream(), r.stream(), r.event(2)
	r.ok(r.CuStreamBeginCapture(a, global))
	r.ok(r.launch(add, a, p, 0, 1))
	r.ok(r.CuEventRecord(fork, a))
	r.ok(r.CuStreamWaitEvent(b, fork, 0))
	var g cu.CUgraph
	r.ok(r.launch(add, b, p, 0, 1))
	r.want("end", r.endCapture(a), cu.CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
	r.want("after it", r.CuStreamEndCapture(a, &g), cu.CUDA_ERROR_ILLEGAL_STATE)
	r.want("the fork works again", r.CuStreamSynchronize(b), 0)

	r.ok(r.CuStreamBeginCapture(a, global))
	r.ok(r.launch(add, a, p, 0, 1))
	r.ok(r.CuEventRecord(fork, a))
	r.ok(r.CuStreamWaitEvent(b, fork, 0))
	r.want("end with a fork that did nothing", r.endCapture(a), 0)
}

func TestCaptureEndsOnItsStream(t *testing.T) {
	r := newRig(t)
	a, b, fork := r.stream(), r.stream(), r.event(2)
	r.ok(r.CuStreamBeginCapture(a, global))
	r.ok(r.CuEventRecord(fork, a))
	r.ok(r.CuStreamWaitEvent(b, fork, 0))
	var g cu.CUgraph
	r.want("end on the fork", r.CuStreamEndCapture(b, &g), cu.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
	r.want("end", r.endCapture(a), cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
}

func TestDependencyOnUncapturedWorkIsRefused(t *testing.T) {
	r := newRig(t)
	s, other := r.stream(), r.stream()
	before, never := r.event(2), r.event(2)
	r.ok(r.CuEventRecord(before, other))
	r.ok(r.CuStreamBeginCapture(s, global))
	r.want("wait for earlier work", r.CuStreamWaitEvent(s, before, 0), cu.CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
	r.want("end", r.endCapture(s), invalidated)
	r.ok(r.CuStreamBeginCapture(s, global))
	r.want("wait for an event never recorded", r.CuStreamWaitEvent(s, never, 0), 0)
	r.want("end", r.endCapture(s), 0)
}

func TestEventOfAnEndedCapture(t *testing.T) {
	r := newRig(t)
	s, other, ev := r.stream(), r.stream(), r.event(2)
	r.ok(r.CuStreamBeginCapture(s, global))
	r.ok(r.CuEventRecord(ev, s))
	r.want("end", r.endCapture(s), 0)
	r.want("wait outside", r.CuStreamWaitEvent(other, ev, 0), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuStreamBeginCapture(s, global))
	r.want("wait in the next capture", r.CuStreamWaitEvent(s, ev, 0), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("end", r.endCapture(s), invalidated)
}

func TestCapturesCanNotBeMerged(t *testing.T) {
	r := newRig(t)
	a, b, ev := r.stream(), r.stream(), r.event(2)
	r.ok(r.CuStreamBeginCapture(a, global))
	r.ok(r.CuStreamBeginCapture(b, global))
	r.ok(r.CuEventRecord(ev, a))
	r.want("merge", r.CuStreamWaitEvent(b, ev, 0), cu.CUDA_ERROR_STREAM_CAPTURE_MERGE)
	r.want("end of one", r.endCapture(a), invalidated)
	r.want("end of the other", r.endCapture(b), invalidated)
}

func TestLegacyStreamDuringACapture(t *testing.T) {
	r := newRig(t)
	p, ev := r.alloc(4), r.event(2)
	blocking, free := r.streamWith(0), r.stream()
	const implicit = cu.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
	var st cu.CUstreamCaptureStatus

	r.ok(r.CuStreamBeginCapture(free, global))
	r.want("beside a non-blocking stream", r.CuMemsetD8Async(p, 0, 1, 0), 0)
	r.want("status", r.CuStreamIsCapturing(0, &st), 0)
	r.ok(r.CuEventRecord(ev, free))
	r.want("joining", r.CuStreamWaitEvent(0, ev, 0), implicit)
	r.want("end", r.endCapture(free), invalidated)

	r.ok(r.CuStreamBeginCapture(blocking, relaxed))
	r.want("status beside a blocking stream", r.CuStreamIsCapturing(0, &st), implicit)
	r.want("end", r.endCapture(blocking), 0)
	r.ok(r.CuStreamBeginCapture(blocking, relaxed))
	r.want("beside a blocking stream", r.CuMemsetD8Async(p, 0, 1, 0), implicit)
	r.want("end", r.endCapture(blocking), invalidated)
	r.ok(r.CuStreamBeginCapture(blocking, relaxed))
	r.want("synchronous copy", r.CuMemsetD8(p, 0, 1), implicit)
	r.want("end", r.endCapture(blocking), invalidated)
}

func TestCaptureInfo(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	var st cu.CUstreamCaptureStatus
	var id uint64
	var g cu.CUgraph
	var deps *cu.CUgraphNode
	var data *cu.CUgraphEdgeData
	var n uintptr
	r.ok(r.CuStreamGetCaptureInfo(s, &st, &id, &g, &deps, &data, &n))
	if st != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		t.Errorf("status %v", st)
	}
	r.ok(r.CuStreamBeginCapture(s, global))
	r.ok(r.launch(add, s, p, 0, 1))
	r.ok(r.launch(add, s, p, 0, 1))
	r.ok(r.CuStreamGetCaptureInfo(s, &st, &id, &g, &deps, &data, &n))
	if st != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE || id == 0 || g == 0 || n != 1 || *deps != r.nodes(g)[1] {
		t.Errorf("status %v, id %d, graph %#x, %d dependencies", st, id, g, n)
	}
	// The next node must depend on both nodes.
	all := r.nodes(g)
	r.ok(r.CuStreamUpdateCaptureDependencies(s, &all[0], nil, 1, uint32(cu.CU_STREAM_ADD_CAPTURE_DEPENDENCIES)))
	r.ok(r.launch(add, s, p, 0, 1))
	if m := r.edgeCount(g); m != 3 {
		t.Errorf("%d edges after adding a dependency", m)
	}
	r.ok(r.CuStreamUpdateCaptureDependencies(s, nil, nil, 0, uint32(cu.CU_STREAM_SET_CAPTURE_DEPENDENCIES)))
	r.ok(r.launch(add, s, p, 0, 1))
	if m := r.edgeCount(g); m != 3 {
		t.Errorf("%d edges after a node without dependencies", m)
	}
	r.want("end", r.endCapture(s), 0)
	r.want("no capture", r.CuStreamUpdateCaptureDependencies(s, nil, nil, 0, 1), cu.CUDA_ERROR_ILLEGAL_STATE)
}

func TestCaptureToAGraph(t *testing.T) {
	r := newRig(t)
	p, s, shift := r.alloc(4), r.stream(), r.kernel("shift")
	g := r.graph()
	n := r.addKernel(g, shift, p, 0, 1)
	r.ok(r.CuStreamBeginCaptureToGraph(s, g, &n, nil, 1, global))
	r.ok(r.launch(shift, s, p, 0, 2))
	mode := relaxed
	r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
	var meanwhile cu.CUgraphExec
	r.ok(r.CuGraphInstantiate(&meanwhile, g, 0))
	r.ok(r.CuGraphExecDestroy(meanwhile))
	r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
	var out cu.CUgraph
	r.ok(r.CuStreamEndCapture(s, &out))
	if out != g || len(r.nodes(g)) != 2 || r.edgeCount(g) != 1 {
		t.Errorf("graph %#x, %d nodes, %d edges", out, len(r.nodes(g)), r.edgeCount(g))
	}
	r.ok(r.CuGraphLaunch(r.instantiate(g), s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("both", p, 4)

	// A failed capture must destroy the graph.
	r.ok(r.CuStreamBeginCaptureToGraph(s, g, nil, nil, 0, global))
	r.want("query", r.CuStreamQuery(s), unsupported)
	var none cu.CUgraph
	r.want("end", r.CuStreamEndCapture(s, &none), invalidated)
	var count uintptr
	r.want("nodes of the graph", r.CuGraphGetNodes(g, nil, &count), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestEveryKindOfWorkIsCaptured(t *testing.T) {
	r := newRig(t)
	p, s, ev := r.alloc(64), r.stream(), r.event(0)
	add := r.kernel("add")
	var pinned unsafe.Pointer
	r.ok(r.CuMemHostAlloc(&pinned, 64, 0))
	host := unsafe.Slice((*uint32)(pinned), 16)
	host[0] = 3
	calls := 0
	fn := cu.CUhostFn(loader.NewCallback(func(uintptr) { calls++ }))
	var mem cu.CUdeviceptr
	g := r.captured(s, func() {
		r.ok(r.CuMemcpyHtoDAsync(p, pinned, 4, s))
		r.ok(r.launch(add, s, p, 0, 1))
		r.ok(r.CuMemsetD32Async(p+4, 9, 1, s))
		r.ok(r.CuMemcpyDtoDAsync(p+8, p, 8, s))
		r.ok(r.CuLaunchHostFunc(s, fn, nil))
		r.ok(r.CuEventRecordWithFlags(ev, s, uint32(cu.CU_EVENT_RECORD_EXTERNAL)))
		r.ok(r.CuStreamWaitEvent(s, ev, uint32(cu.CU_EVENT_WAIT_EXTERNAL)))
		r.ok(r.CuStreamWriteValue32(s, p+16, 77, 0))
		r.ok(r.CuMemAllocAsync(&mem, 64, s))
		r.ok(r.CuMemsetD32Async(mem, 5, 4, s))
		r.ok(r.CuMemcpyDtoDAsync(p+20, mem, 4, s))
		r.ok(r.CuMemFreeAsync(mem, s))
		r.ok(r.CuMemcpyDtoHAsync(unsafe.Pointer(&host[8]), p, 24, s))
	})
	var kinds []cu.CUgraphNodeType
	for _, n := range r.nodes(g) {
		var k cu.CUgraphNodeType
		r.ok(r.CuGraphNodeGetType(n, &k))
		kinds = append(kinds, k)
	}
	t.Log(kinds)
	if len(kinds) != 13 {
		t.Errorf("%d nodes", len(kinds))
	}
	x := r.instantiate(g)
	for range 2 {
		clear(host[8:])
		r.ok(r.CuGraphLaunch(x, s))
		r.ok(r.CuStreamSynchronize(s))
		want := []uint32{4, 9, 4, 9, 77, 5}
		for i, w := range want {
			if host[8+i] != w {
				t.Fatalf("result %v, want %v", host[8:14], want)
			}
		}
	}
	if calls != 2 {
		t.Errorf("%d host calls", calls)
	}
	r.ok(r.CuMemFreeHost(pinned))
}

func TestWhatCannotBeDestroyedDuringACapture(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	g := r.graph()
	n := r.addKernel(g, add, p, 0, 1)
	r.ok(r.CuStreamBeginCaptureToGraph(s, g, &n, nil, 1, relaxed))
	r.want("destroy the graph", r.CuGraphDestroy(g), cu.CUDA_ERROR_ILLEGAL_STATE)
	r.want("destroy a node", r.CuGraphDestroyNode(n), cu.CUDA_ERROR_ILLEGAL_STATE)
	var out cu.CUgraph
	r.ok(r.CuStreamEndCapture(s, &out))
	r.ok(r.CuGraphDestroyNode(n))
	r.ok(r.CuGraphDestroy(g))
}

// A failed capture must destroy its graph even if the caller supplied it.
func TestAnInvalidatedCaptureDestroysTheGraphItWasGiven(t *testing.T) {
	r := newRig(t)
	s, g := r.stream(), r.graph()
	r.ok(r.CuStreamBeginCaptureToGraph(s, g, nil, nil, 0, global))
	r.want("query", r.CuStreamQuery(s), unsupported)
	var out cu.CUgraph
	r.want("end", r.CuStreamEndCapture(s, &out), invalidated)
	const gone = cu.CUDA_ERROR_INVALID_VALUE
	r.want("destroy the graph", r.CuGraphDestroy(g), gone)
	if onGPU {
		t.Skip("a driver does not survive uses of it")
	}
	other := r.graph()
	var n cu.CUgraphNode
	r.want("capture into the graph", r.CuStreamBeginCaptureToGraph(s, g, nil, nil, 0, global), gone)
	r.want("a child of the graph", r.CuGraphAddChildGraphNode(&n, other, nil, 0, g), gone)
	r.want("a node of the graph", r.CuGraphAddEmptyNode(&n, g, nil, 0), gone)
	r.want("a clone of the graph", r.CuGraphClone(&out, g), gone)
}

// If the wrong thread ends a capture that has an unjoined stream, the result must report the
// unjoined stream, not the thread.
func TestUnjoinedIsFoundBeforeTheThread(t *testing.T) {
	for _, mode := range []cu.CUstreamCaptureMode{global, threadLocal, relaxed} {
		r := newRig(t)
		s, other, e := r.stream(), r.stream(), r.event(cu.CU_EVENT_DISABLE_TIMING)
		p, add := r.alloc(4), r.kernel("add")
		r.ok(r.CuStreamBeginCapture(s, mode))
		r.ok(r.CuEventRecord(e, s))
		r.ok(r.CuStreamWaitEvent(other, e, 0))
		r.ok(r.launch(add, other, p, 0, 1))
		r.elsewhere(func() {
			r.want("end on another thread", r.endCapture(s), cu.CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		})
		r.want("once more", r.endCapture(s), cu.CUDA_ERROR_ILLEGAL_STATE)
	}
}

// A stream that is destroyed during a capture leaves the capture, but the nodes that it recorded
// must still be joined.
func TestAForkedStreamMayBeDestroyedInACapture(t *testing.T) {
	r := newRig(t)
	if r.emu == nil {
		t.Skip("a driver may wait in the destruction")
	}
	p, add := r.alloc(8), r.kernel("add")
	a, b, ev, back := r.stream(), r.stream(), r.event(0), r.event(0)
	var forked cu.CUstream
	r.ok(r.CuStreamCreate(&forked, 1))
	r.ok(r.CuStreamBeginCapture(a, relaxed))
	r.ok(r.CuEventRecord(ev, a))
	r.ok(r.CuStreamWaitEvent(forked, ev, 0))
	r.ok(r.CuStreamWaitEvent(b, ev, 0))
	r.ok(r.launch(add, forked, p, 0, 1))
	r.ok(r.launch(add, b, p, 1, 1))
	r.ok(r.CuEventRecord(back, b))
	r.ok(r.CuEventRecord(ev, forked))
	r.ok(r.CuStreamWaitEvent(a, back, 0))
	r.ok(r.CuStreamWaitEvent(a, ev, 0))
	r.ok(r.CuStreamDestroy(forked))
	var status cu.CUstreamCaptureStatus
	r.ok(r.CuStreamIsCapturing(b, &status))
	if status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
		t.Errorf("the other fork's status is %v", status)
	}
	var g cu.CUgraph
	r.ok(r.CuStreamEndCapture(a, &g))
	defer r.CuGraphDestroy(g)
	r.ok(r.CuStreamIsCapturing(b, &status))
	if status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		t.Errorf("after the end the other fork's status is %v", status)
	}
	r.ok(r.CuGraphLaunch(r.instantiate(g), a))
	r.ok(r.CuStreamSynchronize(a))
	r.wantWords("both forks", p, 1, 1)
}
