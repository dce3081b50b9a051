package kernelfault_test

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// Two launches of one module fault at the same time. When the first launch ends, a thread of the
// second one has claimed the slot and is still writing its record. The wait for the first launch
// must return that fault, because threads of the first launch have failed as well. The test itself
// writes the record.
func TestWaitForARecordThatIsBeingWritten(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := load(t, c, "index")
		s, out := stream(t, c), buffer(t, c, 32)
		for number := uint32(1); number <= 3; number++ {
			var at [16]byte
			ok(t, must(m.Global("__purecuda_fault"))(t).View(0, 16).CopyTo(at[:]))
			var claim [4]byte
			binary.LittleEndian.PutUint32(claim[:], number)
			ok(t, must(m.Global("__purecuda_fault"))(t).View(16, 20).CopyFrom(claim[:]))
			slot := slotAt(t, c, driver.CUdeviceptr(binary.LittleEndian.Uint64(at[:])))
			launchIndex(t, kernel(t, m, "index"), s, 1, out, 31, 0)
			written := make(chan struct{})
			time.AfterFunc(50*time.Millisecond, func() {
				slot.index = int64(number)
				slot.flag.Store(number)
				close(written)
			})
			f := faultOf(t, wait(t, s))
			<-written
			if f.Values[0] != int64(number) {
				t.Errorf("the fault is %v", f)
			}
		}
		launchIndex(t, kernel(t, m, "index"), s, 1, out, 31, 0)
		if f := faultOf(t, wait(t, s)); f.Line != 17 {
			t.Errorf("afterwards the fault is %v", f)
		}
	})
}

// If the record never appears, the wait must return without it.
func TestWaitForARecordThatNeverAppears(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := load(t, c, "index")
		s, out := stream(t, c), buffer(t, c, 32)
		ok(t, must(m.Global("__purecuda_fault"))(t).View(16, 20).CopyFrom([]byte{1, 0, 0, 0}))
		launchIndex(t, kernel(t, m, "index"), s, 1, out, 31, 0)
		ok(t, wait(t, s))
	})
}

// slotMemory is the beginning of a slot.
type slotMemory struct {
	flag, number  atomic.Uint32
	summary, site uint64
	index         int64
}

func slotAt(t testing.TB, c *driver.Context, at driver.CUdeviceptr) *slotMemory {
	t.Helper()
	var host unsafe.Pointer
	ok(t, c.Guarded().CuPointerGetAttribute(unsafe.Pointer(&host), cu.CU_POINTER_ATTRIBUTE_HOST_POINTER, at))
	return (*slotMemory)(host)
}
