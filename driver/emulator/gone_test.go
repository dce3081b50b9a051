package emulator

import (
	"errors"
	"runtime"
	"testing"
	"weak"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// opened is a driver on an emulator with the checks, and a current context.
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

// leave destroys a stream whose work waits for the word, and lets the work end afterwards.
func leave(d *driver.Driver, word cu.CUdeviceptr) error {
	var s cu.CUstream
	var ev cu.CUevent
	return errors.Join(
		d.CuStreamWriteValue32(0, word, 0, 0), d.CuStreamCreate(&s, uint32(cu.CU_STREAM_NON_BLOCKING)), d.CuEventCreate(&ev, 0),
		d.CuStreamWaitValue32(s, word, 1, 0), d.CuEventRecord(ev, s), d.CuStreamDestroy(s),
		d.CuStreamWriteValue32(0, word, 1, 0), d.CuEventSynchronize(ev), d.CuEventDestroy(ev))
}

// The remaining work of destroyed streams is forgotten when it has ended, even if nothing waits for
// the whole context.
func TestWorkOfDestroyedStreamsIsForgotten(t *testing.T) {
	e, d, ctx := opened(t, 0)
	var word cu.CUdeviceptr
	if err := d.CuMemAlloc(&word, 4); err != nil {
		t.Fatal(err)
	}
	gone := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(ctx.gone)
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

// The signals stored for one word of memory do not accumulate when the streams that wrote it are
// destroyed.
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

// The order that a node found out is forgotten when the node has run, even if the memory it
// accessed still refers to the node.
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
