package emulator

import (
	"errors"
	"runtime"
	"testing"
	"weak"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// The checks of a long-running program do not accumulate records of its past.
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
	var orders []weak.Pointer[taskOrder]
	// The nodes of this graph also access the memory. A node's place in the order is stored with
	// the memory and must not retain those before it.
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
		"what a stream learned late": len(legacy.late), "streams that leave": len(e.leaving), "work of such": len(find[cudaContext](e, uintptr(ctx)).gone),
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
