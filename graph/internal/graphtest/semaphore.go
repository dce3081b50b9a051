package graphtest

import (
	"context"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

const (
	TimelineFD = cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
	OpaqueFD   = cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
)

// Other is a kit on an emulator that also acts as another API, which creates the semaphores to
// import.
type Other struct {
	*Kit
	Emu *emulator.Emulator
}

func WithOther(t *testing.T, cfg emulator.Config) Other {
	t.Helper()
	emu := emulator.New(cfg)
	return Other{NewKit(t, gputest.Context(t, gputest.Driver(t, emu))), emu}
}

// Semaphore creates a semaphore in the other API and imports it.
func (o Other) Semaphore(kind cu.CUexternalSemaphoreHandleType) (*emulator.Semaphore, *driver.ExternalSemaphore) {
	o.Helper()
	theirs, err := o.Emu.NewSemaphore(kind)
	o.OK(err)
	ours, err := o.C.ImportSemaphoreFD(kind, int(theirs.Export()))
	o.OK(err)
	o.CloseLater(ours)
	return theirs, ours
}

func (o Other) Signal(s *driver.ExternalSemaphore, v uint64) *driver.SemaphoreOp {
	o.Helper()
	op, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: s, Value: v})
	o.OK(err)
	return op
}

func (o Other) Await(s *driver.ExternalSemaphore, v uint64) *driver.SemaphoreOp {
	o.Helper()
	op, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: s, Value: v})
	o.OK(err)
	return op
}

// Waits launches a graph and checks that it waits for the other API. Then Waits signals from the
// other API and checks the signal that the graph sends back.
func (o Other) Waits(x *graph.Exec, theirs *emulator.Semaphore, value, answer uint64) {
	o.Helper()
	o.OK(x.Launch(o.S))
	time.Sleep(2 * time.Millisecond)
	if done, err := o.S.Query(); done || err != nil {
		o.Fatalf("the graph did not wait: %v, %v", done, err)
	}
	theirs.Signal(value)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	o.OK(theirs.Wait(ctx, answer))
	o.Wait(o.S)
	if v := theirs.Value(); v != answer {
		o.Errorf("the semaphore has %d, want %d", v, answer)
	}
}
