//go:build !static

package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// journalData stands where it is for as long as the program runs.
var journalData byte

func TestTheJournalTellsOfEachFailure(t *testing.T) {
	if onGPU {
		return // what a driver writes a line about is its own
	}
	r := newRig(t)
	told := make(chan uintptr, 8)
	fn := loader.NewCallback(func(userData uintptr) { told <- userData })
	data := unsafe.Pointer(&journalData)
	var h driver.CUlogsCallbackHandle
	r.ok(r.CuLogsRegisterCallback(driver.CUlogsCallback(fn), data, &h))
	r.want("nowhere", r.CuMemAlloc(nil, 4), driver.CUDA_ERROR_INVALID_VALUE)
	if got := <-told; got != uintptr(data) {
		t.Errorf("told with %#x", got)
	}
	r.ok(r.CuLogsUnregisterCallback(h))
	r.want("nowhere", r.CuMemAlloc(nil, 4), driver.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuLaunchHostFunc(0, driver.CUhostFn(fn), nil)) // behind what is queued for the same thread
	if got := <-told; got != 0 {
		t.Errorf("told with %#x after the end", got)
	}
}
