package faulttest_test

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// All threads of a launch fail while a thread of another launch is still writing its record. The
// wait for the first launch must return that record. The test plays the part of the other thread:
// it claims the slot and writes the record.
func TestWaitForARecordOfAnotherLaunch(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := load(t, c, compiled(t, "kinds", go2ptx.Config{}))
		s, out := stream(t, c), buffer(t, c, 64)
		var at [16]byte // the addresses of the slot and of the summary
		ok(t, must(m.Global("__purecuda_fault"))(t).View(0, 16).CopyTo(at[:]))
		var host unsafe.Pointer
		ok(t, c.Guarded().CuPointerGetAttribute(unsafe.Pointer(&host), cu.CU_POINTER_ATTRIBUTE_HOST_POINTER, driver.CUdeviceptr(binary.LittleEndian.Uint64(at[:]))))
		slot := (*struct {
			flag, number atomic.Uint32
			_, site      uint64
			index        int64
			_            [6]uint64
			late         atomic.Uint32
		})(host)
		ok(t, must(m.Global("__purecuda_fault"))(t).View(16, 20).CopyFrom([]byte{2, 0, 0, 0}))
		ok(t, kernel(t, m, "index").Launch(s, driver.LaunchConfig{Grid: driver.D1(2), Block: driver.D1(32)}, sliceOf(out), int64(64), int64(0), int64(-1)))
		time.AfterFunc(50*time.Millisecond, func() {
			slot.index = 4711
			slot.flag.Store(2)
		})
		if faults := faultsOf(wait(t, s)); len(faults) != 1 || faults[0].Values[0] != 4711 {
			t.Errorf("the faults are %v", faults)
		}
		if late := slot.late.Load(); late != 2 {
			t.Errorf("late is %d, not the claim", late)
		}
	})
}
