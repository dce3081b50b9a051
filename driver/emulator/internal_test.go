package emulator

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"unsafe"
	"weak"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/order"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
)

func TestNoFaultIsLost(t *testing.T) {
	const each, devices = 20000, 4
	e := New(Config{})
	x := &execution{e: e}
	var all sync.WaitGroup
	for range devices {
		all.Go(func() {
			for range each {
				x.noteFault(Finding{Kind: "a fault"}, errIllegalAddress)
			}
		})
	}
	all.Wait()
	if n := len(e.Findings()); n != each*devices {
		t.Errorf("%d findings of %d faults", n, each*devices)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// A failed copy may have written some of its rows. The findings must not attribute these writes to
// the host.
func TestTheRowsOfAFailedCopyAreNotTheHosts(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e := New(Config{Check: CheckHostMemory})
	d, err := driver.New(e)
	if err != nil {
		t.Fatal(err)
	}
	var ctx cu.CUcontext
	var host unsafe.Pointer
	var p cu.CUdeviceptr
	if err := errors.Join(d.CuInit(0), d.CuCtxCreate(&ctx, nil, 0, 0), d.CuMemHostAlloc(&host, 8, 0),
		d.CuMemAlloc(&p, 256), d.CuMemsetD8(p, 1, 256)); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	s := find[cudaContext](e, uintptr(ctx)).legacy
	to := transfer.Side{Addr: uint64(uintptr(host)), Pitch: 4, Height: 2}
	from := transfer.Side{Addr: uint64(p), Pitch: 1 << 20, Height: 2} // the second row does not exist
	enqueueCopy(s, &to, &from, transfer.Extent{Width: 4, Height: 2, Depth: 1})
	e.mu.Unlock()
	var failed *cu.Error
	if err := d.CuCtxSynchronize(); !errors.As(err, &failed) || failed.Result != errIllegalAddress {
		t.Error("the copy:", err)
	}
	if *(*byte)(host) != 1 {
		t.Error("no row was copied")
	}
	for _, f := range e.Findings() {
		if f.Kind != kindCopy {
			t.Errorf("found %v", f)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// opened returns a driver with a current context on an emulator with the given checks.
func opened(t *testing.T, checks Check) (*Emulator, *driver.Driver, *cudaContext) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	e := New(Config{Check: checks})
	d, err := driver.New(e)
	if err != nil {
		t.Fatal(err)
	}
	var ctx cu.CUcontext
	if err := errors.Join(d.CuInit(0), d.CuCtxCreate(&ctx, nil, 0, 0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, d, find[cudaContext](e, uintptr(ctx))
}

func leave(d *driver.Driver, word cu.CUdeviceptr) error {
	var s cu.CUstream
	var ev cu.CUevent
	return errors.Join(
		d.CuStreamWriteValue32(0, word, 0, 0), d.CuStreamCreate(&s, uint32(cu.CU_STREAM_NON_BLOCKING)), d.CuEventCreate(&ev, 0),
		d.CuStreamWaitValue32(s, word, 1, 0), d.CuEventRecord(ev, s), d.CuStreamDestroy(s),
		d.CuStreamWriteValue32(0, word, 1, 0), d.CuEventSynchronize(ev), d.CuEventDestroy(ev))
}

// Finished work of destroyed streams must be dropped even if nothing waits for the whole context.
func TestWorkOfDestroyedStreamsIsForgotten(t *testing.T) {
	e, d, ctx := opened(t, 0)
	var word cu.CUdeviceptr
	if err := d.CuMemAlloc(&word, 4); err != nil {
		t.Fatal(err)
	}
	gone := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(ctx.leftWork)
	}
	for range 10 {
		if err := leave(d, word); err != nil {
			t.Fatal(err)
		}
		if n := gone(); n > 1 {
			t.Fatalf("%d destroyed streams whose work has ended are remembered", n)
		}
	}
	if err := d.CuCtxSynchronize(); err != nil {
		t.Fatal(err)
	}
	if n := gone(); n != 0 {
		t.Errorf("after the context was waited for, %d destroyed streams are remembered", n)
	}
	if err := d.CuMemFree(word); err != nil {
		t.Fatal(err)
	}
}

// The signals stored for a word of memory must not accumulate when the streams that wrote the word
// are destroyed.
func TestSignalsForgetDestroyedStreams(t *testing.T) {
	e, d, _ := opened(t, CheckGlobalRaces)
	var word cu.CUdeviceptr
	if err := d.CuMemAlloc(&word, 4); err != nil {
		t.Fatal(err)
	}
	most := 0
	const rounds = 50
	for range rounds {
		var s cu.CUstream
		if err := errors.Join(d.CuStreamCreate(&s, uint32(cu.CU_STREAM_NON_BLOCKING)), d.CuStreamWriteValue32(s, word, 1, 0),
			d.CuStreamSynchronize(s), d.CuStreamDestroy(s), d.CuCtxSynchronize()); err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		for _, p := range e.signals {
			most = max(most, len(p))
		}
		e.mu.Unlock()
	}
	if most == 0 || most > rounds/5 {
		t.Errorf("%d streams are remembered at the word after %d rounds", most, rounds)
	}
	if err := d.CuMemFree(word); err != nil {
		t.Fatal(err)
	}
}

// After a node has run, its order.Task must drop the order that was computed for it, even if the
// memory that the node accessed still refers to the task.
func TestNodesForgetWhatTheyAskedFor(t *testing.T) {
	e, d, ctx := opened(t, CheckGlobalRaces)
	var p cu.CUdeviceptr
	var g cu.CUgraph
	var x cu.CUgraphExec
	var n cu.CUgraphNode
	if err := d.CuMemAlloc(&p, 256); err != nil {
		t.Fatal(err)
	}
	fill := cu.CUDA_MEMSET_NODE_PARAMS{Dst: p, Value: 4, ElementSize: 1, Width: 256, Height: 1}
	if err := d.CuMemsetD8Async(p, 1, 256, 0); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	before := weak.Make(ctx.legacy.latest)
	e.mu.Unlock()
	if err := errors.Join(d.CuGraphCreate(&g, 0), d.CuGraphAddMemsetNode(&n, g, nil, 0, &fill, cu.CUcontext(ctx.handle)),
		d.CuGraphInstantiate(&x, g, 0), d.CuGraphLaunch(x, 0), d.CuCtxSynchronize()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if before.Value() != nil {
		t.Error("what ran before the graph is kept by a node that has ended")
	}
	if err := errors.Join(d.CuGraphExecDestroy(x), d.CuGraphDestroy(g), d.CuMemFree(p)); err != nil {
		t.Fatal(err)
	}
}

// In a long-running program, the checks must not accumulate records about past work.
func TestTheOrderDoesNotGrow(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e := New(Config{Check: CheckGlobalRaces | CheckHostMemory})
	d, err := driver.New(e)
	if err != nil {
		t.Fatal(err)
	}
	ok := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	var ctx cu.CUcontext
	var p cu.CUdeviceptr
	ok(d.CuInit(0), d.CuCtxCreate(&ctx, nil, 0, 0), d.CuMemAlloc(&p, 256))
	var legacy *stream
	var orders []weak.Pointer[order.Task]
	// The nodes of this graph also access the memory. The order.Task stored with the memory must
	// not retain earlier tasks.
	var g cu.CUgraph
	var x cu.CUgraphExec
	var first, second cu.CUgraphNode
	fill := cu.CUDA_MEMSET_NODE_PARAMS{Dst: p, Value: 4, ElementSize: 1, Width: 256, Height: 1}
	ok(d.CuGraphCreate(&g, 0), d.CuGraphAddMemsetNode(&first, g, nil, 0, &fill, ctx), d.CuGraphAddMemsetNode(&second, g, &first, 1, &fill, ctx),
		d.CuGraphInstantiate(&x, g, 0))
	const rounds = 100
	for range rounds {
		var a, b cu.CUstream
		var word cu.CUdeviceptr
		var ev cu.CUevent
		ok(d.CuStreamCreate(&a, uint32(cu.CU_STREAM_NON_BLOCKING)), d.CuStreamCreate(&b, uint32(cu.CU_STREAM_NON_BLOCKING)),
			d.CuMemAlloc(&word, 4), d.CuEventCreate(&ev, 0))
		ok(d.CuMemsetD8Async(p, 1, 256, a), d.CuStreamWriteValue32(a, word, 1, 0), d.CuEventRecord(ev, a), d.CuStreamWaitEvent(b, ev, 0))
		ok(d.CuMemsetD8Async(p, 2, 256, b), d.CuEventRecord(ev, b), d.CuStreamWaitEvent(0, ev, 0), d.CuMemsetD8Async(p, 3, 256, 0), d.CuGraphLaunch(x, 0))
		ok(d.CuStreamDestroy(a), d.CuStreamDestroy(b), d.CuCtxSynchronize(), d.CuEventQuery(ev))
		ok(d.CuEventDestroy(ev), d.CuMemFree(word))
		e.mu.Lock()
		legacy = find[cudaContext](e, uintptr(ctx)).legacy
		orders = append(orders, weak.Make(legacy.latest))
		e.mu.Unlock()
	}
	runtime.GC()
	e.mu.Lock()
	sizes := map[string]int{
		"what the host knows": len(e.hostKnows), "what a stream knows": len(legacy.known), "signals": len(e.signals),
		"what a stream learned late": len(legacy.late), "streams that leave": len(e.leavingStreams), "work of such": len(find[cudaContext](e, uintptr(ctx)).leftWork),
	}
	e.mu.Unlock()
	kept := 0
	for _, w := range orders {
		if w.Value() != nil {
			kept++
		}
	}
	sizes["tasks"] = kept
	for what, n := range sizes {
		if n > rounds/10 {
			t.Errorf("%s: %d after %d rounds", what, n, rounds)
		}
	}
	for _, f := range e.Findings() {
		t.Errorf("found %v", f)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
