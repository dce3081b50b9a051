package emulator_test

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// journalData stays at the same address for the life of the program.
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

// hostFunc enqueues a host function, after everything already queued for its thread.
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
	r.ok(r.CuLaunchHostFunc(0, cu.CUhostFn(fn), nil)) // after everything queued for the same thread
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
