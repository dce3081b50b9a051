package emulator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

func TestUnknownSymbolIsNotFound(t *testing.T) {
	emu := emulator.New(emulator.Config{})
	defer emu.Close()
	_, err := emu.Lookup("cuNoSuchFunction")
	if !errors.Is(err, loader.ErrSymbolNotFound) || !strings.Contains(err.Error(), "cuNoSuchFunction") {
		t.Errorf("got %v", err)
	}
	d, err := driver.New(emu)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CuInit(0); err != nil {
		t.Fatal(err)
	}
	if err := d.CuGreenCtxDestroy(1); !errors.Is(err, cu.ErrNotSupported) {
		t.Errorf("a function that is not implemented: %v", err)
	}
}

func TestLeaksAreListed(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	r := newRig(t)
	var s cu.CUstream
	var p cu.CUdeviceptr
	var g cu.CUgraph
	r.ok(r.CuStreamCreate(&s, 1))
	r.ok(r.CuMemAlloc(&p, 100))
	r.ok(r.CuGraphCreate(&g, 0))
	kinds := func() string {
		var b strings.Builder
		for _, l := range r.emu.Leaks() {
			b.WriteString(l.Kind + "\n")
		}
		return b.String()
	}
	if got := kinds(); got != "graph\nmemory\nprimary context\nstream\n" {
		t.Errorf("open:\n%s", got)
	}
	r.ok(r.CuStreamDestroy(s))
	r.ok(r.CuMemFree(p))
	r.ok(r.CuGraphDestroy(g))
	if got := kinds(); got != "primary context\n" {
		t.Errorf("after closing:\n%s", got)
	}
	var ctx cu.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	r.ok(r.CuStreamCreate(&s, 1))
	r.ok(r.CuCtxDestroy(ctx))
	leaks := r.emu.Leaks()
	if len(leaks) != 2 || !strings.Contains(leaks[1].String(), "reclaimed by cuCtxDestroy") {
		t.Errorf("what a context took with it: %v", leaks)
	}
	r.forgive = true
}

func TestCloseStopsWhatRuns(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	r := newRig(t)
	s := r.stream()
	p := r.alloc(4)
	r.ok(r.CuStreamWaitValue32(s, p, 1, 1)) // nothing ever writes this value
	waiting := make(chan error)
	go func() { waiting <- r.CuStreamSynchronize(s) }()
	time.Sleep(5 * time.Millisecond)
	if err := r.emu.Close(); err != nil {
		t.Error(err)
	}
	<-waiting
	r.want("after Close", r.CuCtxSynchronize(), cu.CUDA_ERROR_DEINITIALIZED)
	if err := r.emu.Close(); err != nil {
		t.Error("second Close:", err)
	}
	r.forgive = true
}

func TestFaultReportNamesTheKernel(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	var log bytes.Buffer
	r := newRigWith(t, emulator.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	r.ok(r.launch(r.kernel("broken"), 0, r.alloc(4), 0, 0))
	r.want("fault", r.CuCtxSynchronize(), cu.CUDA_ERROR_ILLEGAL_ADDRESS)
	for _, text := range []string{r.emu.LastFault(), log.String()} {
		if !strings.Contains(text, "broken") || !strings.Contains(text, "0x40") {
			t.Errorf("report: %s", text)
		}
	}
}

func TestUseOfFreedMemoryInAKernelIsAFault(t *testing.T) {
	if onGPU {
		t.Skip("a driver's allocator need not unmap it")
	}
	r := newRig(t)
	var p cu.CUdeviceptr
	r.ok(r.CuMemAlloc(&p, 64))
	add := r.kernel("add")
	r.ok(r.CuMemFree(p))
	r.ok(r.launch(add, 0, p, 0, 1))
	r.want("use after free", r.CuCtxSynchronize(), cu.CUDA_ERROR_ILLEGAL_ADDRESS)
	if !strings.Contains(r.emu.LastFault(), "cuMemFree") {
		t.Errorf("report: %s", r.emu.LastFault())
	}
}

// Several goroutines must be able to use bound views while others capture streams and free memory.
func TestManyGoroutinesWorkAtATime(t *testing.T) {
	r := newRig(t)
	d := r.Bound(r.ctx)
	add := r.kernel("add")
	streams := make([]cu.CUstream, 4)
	for i := range streams {
		streams[i] = r.stream()
	}
	sum := r.alloc(4)
	var wg sync.WaitGroup
	fail := make(chan error, 64)
	for i := range 32 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s := streams[i%len(streams)]
			for range 10 {
				if err := work(d, s, add, uint32(i)); err != nil {
					fail <- err
					return
				}
			}
		}()
	}
	wg.Wait()
	close(fail)
	for err := range fail {
		t.Error(err)
	}
	r.wantWords("untouched", sum, 0)
}

func work(d *driver.Driver, s cu.CUstream, add cu.CUfunction, v uint32) error {
	var p cu.CUdeviceptr
	if err := d.CuMemAlloc(&p, 8); err != nil {
		return err
	}
	out := new([2]uint32)
	params := args(p, 1, v)
	err := errors.Join(
		d.CuMemsetD32Async(p, 1, 2, s),
		d.CuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, s, params, nil),
		d.CuStreamSynchronize(s),
		d.CuMemcpyDtoH(unsafe.Pointer(out), p, 8),
		d.CuMemFree(p),
	)
	if err == nil && *out != [2]uint32{1, 1 + v} {
		return errors.New("wrong result")
	}
	return err
}

// journalData is a variable because its address must never change.
var journalData byte

func journalRig(t *testing.T) *rig {
	t.Helper()
	if onGPU {
		t.Skip("what a driver writes a line about is its own")
	}
	return newRig(t)
}

func (r *rig) listen(f func()) cu.CUlogsCallbackHandle {
	r.t.Helper()
	fn := loader.NewCallback(func(uintptr) { f() })
	var h cu.CUlogsCallbackHandle
	r.ok(r.CuLogsRegisterCallback(cu.CUlogsCallback(fn), nil, &h))
	return h
}

func (r *rig) fail() {
	r.t.Helper()
	r.want("nowhere", r.CuMemAlloc(nil, 4), cu.CUDA_ERROR_INVALID_VALUE)
}

func (r *rig) hostFunc(f func()) {
	r.t.Helper()
	r.ok(r.CuLaunchHostFunc(0, cu.CUhostFn(loader.NewCallback(func(uintptr) { f() })), nil))
}

func TestTheJournalTellsOfEachFailure(t *testing.T) {
	r := journalRig(t)
	told := make(chan uintptr, 8)
	fn := loader.NewCallback(func(userData uintptr) { told <- userData })
	data := unsafe.Pointer(&journalData)
	var h cu.CUlogsCallbackHandle
	r.ok(r.CuLogsRegisterCallback(cu.CUlogsCallback(fn), data, &h))
	r.want("nowhere", r.CuMemAlloc(nil, 4), cu.CUDA_ERROR_INVALID_VALUE)
	if got := <-told; got != uintptr(data) {
		t.Errorf("told with %#x", got)
	}
	r.ok(r.CuLogsUnregisterCallback(h))
	r.want("nowhere", r.CuMemAlloc(nil, 4), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuLaunchHostFunc(0, cu.CUhostFn(fn), nil)) // runs after all callbacks queued earlier
	if got := <-told; got != 0 {
		t.Errorf("told with %#x after the end", got)
	}
}

func TestAListenerIsNotToldAfterItsEnd(t *testing.T) {
	r := journalRig(t)
	busy, goOn := make(chan bool), make(chan bool)
	r.hostFunc(func() { busy <- true; <-goOn })
	<-busy
	told := false
	h := r.listen(func() { told = true })
	r.fail()
	r.ok(r.CuLogsUnregisterCallback(h))
	close(goOn)
	r.hostFunc(func() {})
	r.settle()
	if told {
		t.Error("told of a call before its end, but after it")
	}
}

func TestTheEndOfAListenerWaitsForIt(t *testing.T) {
	r := journalRig(t)
	begun := make(chan bool)
	var ended atomic.Bool
	h := r.listen(func() {
		begun <- true
		time.Sleep(50 * time.Millisecond)
		ended.Store(true)
	})
	r.fail()
	<-begun
	r.ok(r.CuLogsUnregisterCallback(h))
	if !ended.Load() {
		t.Error("it still runs")
	}
}

func TestAListenerMayEndItself(t *testing.T) {
	r := journalRig(t)
	var h cu.CUlogsCallbackHandle
	done := make(chan error)
	h = r.listen(func() { done <- r.CuLogsUnregisterCallback(h) })
	r.fail()
	r.ok(<-done)
	r.want("again", r.CuLogsUnregisterCallback(h), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestAListenerIsNotToldOfItsOwnFailures(t *testing.T) {
	r := journalRig(t)
	told := 0
	h := r.listen(func() {
		told++
		r.want("a call in a listener", r.CuMemAlloc(nil, 4), cu.CUDA_ERROR_NOT_PERMITTED)
	})
	r.fail()
	for range 3 {
		r.hostFunc(func() {})
		r.settle()
	}
	r.ok(r.CuLogsUnregisterCallback(h))
	if told != 1 {
		t.Errorf("told %d times of one failure", told)
	}
}

type asking struct {
	slog.Handler
	ask func()
}

func (h *asking) Enabled(context.Context, slog.Level) bool { return true }

func (h *asking) Handle(context.Context, slog.Record) error {
	if ask := h.ask; ask != nil {
		ask()
	}
	return nil
}

// askingRig returns a rig whose log handler calls every query function and makes a copy. If the
// handler deadlocks, the test hangs.
func askingRig(t *testing.T, check emulator.Check, told *atomic.Int32) *rig {
	t.Helper()
	h := &asking{}
	r := checkedRigWith(t, emulator.Config{Check: check, Log: slog.New(h)})
	var s cu.CUstream
	r.ok(r.CuStreamCreate(&s, uint32(cu.CU_STREAM_NON_BLOCKING)))
	from, to := r.pinned(4), r.alloc(4)
	var asks atomic.Bool
	h.ask = func() {
		told.Add(1)
		r.emu.Findings()
		r.emu.Leaks()
		if !asks.CompareAndSwap(false, true) { // a nested call: if the copy below fails, it calls this handler again
			return
		}
		defer asks.Store(false)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var old cu.CUcontext
		if r.CuCtxGetCurrent(&old) != nil || r.CuCtxSetCurrent(r.ctx) != nil {
			return // the handler is running on the thread for host functions, or after Close
		}
		r.CuMemcpyHtoDAsync(to, unsafe.Pointer(&from[0]), 4, s)
		r.CuStreamSynchronize(s)
		r.CuCtxSetCurrent(old)
	}
	t.Cleanup(func() { r.CuStreamDestroy(s) })
	watch := time.AfterFunc(time.Minute, func() { panic("the log's handler waits for a lock that is held") })
	t.Cleanup(func() { watch.Stop() })
	return r
}

func TestTheLogMayAskTheEmulator(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			var told atomic.Int32
			r := askingRig(t, p.check, &told)
			p.run(r, false)
			code(r.CuCtxSynchronize())
			r.forgive = true
			if told.Load() == 0 {
				t.Error("nothing was logged")
			}
		})
	}
}

func TestTheLogMayAskTheEmulatorAfterAFailedCall(t *testing.T) {
	var told atomic.Int32
	r := askingRig(t, 0, &told)
	r.want("nowhere", r.CuMemAlloc(nil, 4), cu.CUDA_ERROR_INVALID_VALUE)
	var m cu.CUmodule
	text := cstr("no PTX")
	if code(r.CuModuleLoadData(&m, unsafe.Pointer(text))) == 0 {
		t.Error("loaded")
	}
	var tex cu.CUtexObject
	r.want("a texture", r.CuTexObjectCreate(&tex, nil, nil, nil), cu.CUDA_ERROR_NOT_SUPPORTED)
	if n := told.Load(); n < 4 {
		t.Errorf("%d records", n)
	}
}

// Polling in an empty loop must end. On wasm, the queries must yield so that the device can run.
func TestAskingAgainAndAgainEnds(t *testing.T) {
	r := newRig(t)
	s, start, end := r.stream(), r.event(0), r.event(0)
	p := r.unwritten(1 << 20)
	for name, ask := range map[string]func() cu.CUresult{
		"stream":       func() cu.CUresult { return code(r.CuStreamQuery(s)) },
		"event":        func() cu.CUresult { return code(r.CuEventQuery(end)) },
		"elapsed time": func() cu.CUresult { var ms float32; return code(r.CuEventElapsedTime(&ms, start, end)) },
	} {
		r.ok(r.CuEventRecord(start, s))
		r.ok(r.CuMemsetD8Async(p, 1, 1<<20, s))
		r.ok(r.CuEventRecord(end, s))
		got := cu.CUDA_ERROR_NOT_READY
		for got == cu.CUDA_ERROR_NOT_READY {
			got = ask()
		}
		if got != cu.CUDA_SUCCESS {
			t.Errorf("%s: %v", name, got)
		}
	}
}

const waiter = `.version 7.8
.target sm_70
.address_size 64
.visible .entry waits(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .u64 %p;
	.reg .u32 %v;
	.reg .pred %again;
	ld.param.u64 %p, [p];
again:
	ld.volatile.global.u32 %v, [%p];
	setp.eq.u32 %again, %v, 0;
	@%again bra again;
	st.volatile.global.u32 [%p+4], 7;
	ret;
}`

func TestAKernelMayWaitForTheHost(t *testing.T) {
	r := newRig(t)
	f, s, words := r.function(r.module(waiter), "waits"), r.stream(), r.pinned(8)
	flag, answer := (*uint32)(unsafe.Pointer(&words[0])), (*uint32)(unsafe.Pointer(&words[4]))
	atomic.StoreUint32(flag, 0)
	atomic.StoreUint32(answer, 0)
	var p cu.CUdeviceptr
	r.ok(r.CuMemHostGetDevicePointer(&p, unsafe.Pointer(flag), 0))
	r.ok(r.launch(f, s, p, 0, 0))
	for range 10 {
		r.want("while it waits", r.CuStreamQuery(s), cu.CUDA_ERROR_NOT_READY)
	}
	atomic.StoreUint32(flag, 1)
	r.ok(r.CuStreamSynchronize(s))
	if got := atomic.LoadUint32(answer); got != 7 {
		t.Errorf("the kernel wrote %d", got)
	}
}
