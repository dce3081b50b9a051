package driver_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestMemOpHasABarrierBetweenItsSteps(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	b := must(driver.Alloc[uint32](c, 2))(t)
	defer b.Close()
	op := must(driver.NewMemOp(c, driver.WriteWord[uint32](b, 0, 1, 0),
		driver.MemBarrier(cu.CU_STREAM_MEMORY_BARRIER_TYPE_GPU), driver.WriteWord[uint32](b, 1, 2, 0)))(t)
	p := op.NodeParams()
	if p.Count != 3 {
		t.Fatalf("%d steps", p.Count)
	}
	step := unsafe.Slice(p.ParamArray, p.Count)[1]
	if m := step.MemoryBarrier(); m.Operation != cu.CU_STREAM_MEM_OP_BARRIER || m.Flags != uint32(cu.CU_STREAM_MEMORY_BARRIER_TYPE_GPU) {
		t.Errorf("step 1 is %v with flags %d", m.Operation, m.Flags)
	}
	s := must(c.NewStream())(t)
	defer s.Close()
	noError(t, s.Do(op))
}
