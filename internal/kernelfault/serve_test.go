package kernelfault_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

// input makes one thread of kernel index fault if bad is set.
type input struct {
	bad  bool
	data []uint32
}

// ramp returns a function whose output is 0, 1, … for each input.
func ramp(k *driver.Kernel) callable.Func[input, *driver.HostBuffer[uint32]] {
	return func(t *callable.Trace[input]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(in input) []uint32 { return in.data })
		length := uint64(32)
		if callable.Shape(t, func(in input) bool { return in.bad }) {
			length = 31
		}
		t.Launch(k, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, x, length, uint64(0))
		return callable.Result(t, x), nil
	}
}

var inputs = []input{{false, make([]uint32, 32)}, {true, make([]uint32, 32)}}

// The call whose kernel faults must return the fault. No replica may be created again, the context
// must not be lost, and later calls must succeed, on other replicas as well.
func TestPoolReturnsTheFaultOfACall(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		p := must(serve.New(c, ramp(k), inputs, serve.WithReplicas(3)))(t)
		defer p.Close()
		for range 20 {
			err := p.Call(t.Context(), inputs[1], nil)
			if f := faultOf(t, err); f.Values != [3]int64{31, 31} {
				t.Errorf("the fault is %v", f)
			}
			var all sync.WaitGroup
			for range 6 {
				all.Go(func() {
					ok(t, p.Call(t.Context(), inputs[0], func(out *driver.HostBuffer[uint32]) error {
						if v := out.Slice()[31]; v != 31 {
							t.Errorf("the output is %d", v)
						}
						return nil
					}))
				})
			}
			all.Wait()
		}
		if s := p.Stats(); s.Failed != 20 || s.Calls != 120 || s.Rebuilt != 0 || s.Restarts != 0 || s.LastLoss != nil {
			t.Errorf("the counts are %+v", s)
		}
	})
}

// All calls of a batch must return the fault of the batch, and no other calls may return it.
func TestBatcherReturnsTheFaultOfABatch(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		f := func(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
			x := callable.StageSlice(t, func(in []uint32) []uint32 { return make([]uint32, 32) })
			length := callable.Constant(t, func(in []uint32) uint64 { return uint64(in[0]) })
			t.Launch(k, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, x, length, uint64(0))
			return callable.Result(t, x), nil
		}
		b := must(serve.NewBatcher(c, f, uint32(32), serve.WithReplicas(2), serve.WithBatch(1, 0)))(t)
		defer b.Close()
		use := func(out *driver.HostBuffer[uint32], i int) error {
			if v := out.Slice()[31]; v != 31 {
				t.Errorf("the output is %d", v)
			}
			return nil
		}
		for range 20 {
			faultOf(t, b.Call(t.Context(), 31, use))
			for range 4 {
				ok(t, b.Call(t.Context(), 32, use))
			}
		}
		if s := b.Stats(); s.Rebuilt != 0 || s.Restarts != 0 {
			t.Errorf("the counts are %+v", s)
		}
	})
}

// A started call must return its fault once and without an output. The next call must work.
func TestPendingCallReturnsItsFault(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		call := must(callable.New(stream(t, c), ramp(k), inputs))(t)
		defer call.Close()
		for range 3 {
			pending := must(call.Start(t.Context(), inputs[1]))(t)
			_, err := pending.Wait(t.Context())
			faultOf(t, err)
			if _, err := pending.Wait(t.Context()); !errors.Is(err, callable.ErrOutputGone) {
				t.Errorf("the second wait returned %v", err)
			}
			faultOf(t, wait(t, call.Stream())) // the stream has not returned the fault yet, only the call's event has
			if v := must(call.Call(t.Context(), inputs[0]))(t).Slice()[31]; v != 31 {
				t.Errorf("the output is %d", v)
			}
			_, err = call.Call(t.Context(), inputs[1])
			faultOf(t, err)
		}
	})
}

// A call must return its fault even if another wait for its stream has already returned it.
func TestCallReturnsItsFaultAfterAnotherWait(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k, s := kernel(t, load(t, c, "index"), "index"), stream(t, c)
		f := func(tr *callable.Trace[input]) (*driver.HostBuffer[uint32], error) {
			out, err := ramp(k)(tr) // an eager call, whose work is in the stream when ramp returns
			faultOf(t, wait(t, s))
			return out, err
		}
		call := must(callable.New(s, f, nil, callable.WithAdaptive(2)))(t)
		defer call.Close()
		_, err := call.Call(t.Context(), inputs[1])
		faultOf(t, err)
		pending := must(call.Start(t.Context(), inputs[1]))(t)
		_, err = pending.Wait(t.Context())
		faultOf(t, err)
	})
}

// A cancelled call must not break its replica, even if its kernel faults later.
func TestFaultOfACancelledCall(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		gate := make(chan struct{})
		f := func(t *callable.Trace[input]) (*driver.HostBuffer[uint32], error) {
			if callable.Shape(t, func(in input) bool { return in.bad }) {
				t.Try(driver.NewHostFunc(c, func() { <-gate }))
			}
			return ramp(k)(t)
		}
		p := must(serve.New(c, f, inputs))(t)
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := p.Call(ctx, inputs[1], nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the cancelled call returned %v", err)
		}
		close(gate)
		ok(t, p.Call(t.Context(), inputs[0], nil))
		if s := p.Stats(); s.Rebuilt != 0 {
			t.Errorf("the counts are %+v", s)
		}
	})
}
