package kernelfault_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Each kind of wait must return a fault once.
func TestEveryWaitReturnsAFault(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		s, out := stream(t, c), buffer(t, c, 32)
		e := must(c.NewEvent())(t)
		defer e.Close()
		legacy := must(c.NewStream(driver.WithLegacySync()))(t)
		defer legacy.Close()
		soon, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for _, w := range []struct {
			name string
			in   *driver.Stream
			wait func() error
		}{
			{"Stream.Wait", s, func() error { return s.Wait(context.Background()) }},
			{"Stream.Wait with a context", s, func() error { return s.Wait(soon) }},
			{"Stream.Query", s, func() error { return poll(s.Query) }},
			{"Event.Wait", s, func() error { return e.Wait(soon) }},
			{"Event.Query", s, func() error { return poll(e.Query) }},
			{"Context.Synchronize", s, func() error { return c.Synchronize(context.Background()) }},
			{"Context.Synchronize with a context", s, func() error { return c.Synchronize(soon) }},
			{"View.CopyTo", legacy, func() error { return out.CopyTo(make([]uint32, 32)) }},
			{"View.CopyFrom", legacy, func() error { return out.CopyFrom(make([]uint32, 32)) }},
			{"View.Fill", legacy, func() error { return out.Fill(0) }},
		} {
			launchIndex(t, k, w.in, 1, out, 31, 0)
			ok(t, w.in.Record(e))
			err := w.wait()
			var f *driver.KernelFault
			if !errors.As(err, &f) || f.Thread[0] != 31 {
				t.Errorf("%s returned %v", w.name, err)
			}
			if err := w.wait(); err != nil {
				t.Errorf("the second %s returned %v", w.name, err)
			}
			_, _ = wait(t, s), wait(t, legacy)
		}
	})
}

func poll(query func() (bool, error)) error {
	for {
		if done, err := query(); done || err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// A wait for an Exec on the per-thread stream does not wait for the stream. The wait must still
// return the fault.
func TestExecWithoutAStreamReturnsAFault(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		out := buffer(t, c, 32)
		x := instantiated(t, c, prepareIndex(t, k, out, 31, 0))
		ok(t, x.Launch(c.PerThreadStream()))
		faultOf(t, x.Wait(t.Context()))
		ok(t, x.Launch(c.PerThreadStream()))
		faultOf(t, x.Wait(t.Context()))
		ok(t, x.Wait(t.Context()))
	})
}

// A cancelled wait must leave the fault for the next wait to report, and must not disturb the work.
func TestCancelledWaitLeavesTheFault(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		s, out, gate := stream(t, c), buffer(t, c, 32), make(chan struct{})
		ok(t, s.HostFunc(func() { <-gate }))
		launchIndex(t, k, s, 1, out, 31, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := s.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the cancelled wait returned %v", err)
		}
		close(gate)
		faultOf(t, wait(t, s))
		ok(t, wait(t, s))
	})
}

// All waits that are pending when a fault occurs must return it, even waits for the same stream.
func TestAllPendingWaitsReturnTheFault(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		s, out, gate := stream(t, c), buffer(t, c, 32), make(chan struct{})
		ok(t, s.HostFunc(func() { <-gate }))
		launchIndex(t, k, s, 1, out, 31, 0)
		const n = 20
		began, errs := make(chan struct{}, n), make(chan error, n)
		for range n {
			go func() {
				began <- struct{}{}
				errs <- s.Wait(t.Context())
			}()
		}
		for range n {
			<-began
		}
		// Each wait must have begun by now. A wait that begins after another has returned finds
		// nothing to return.
		time.Sleep(50 * time.Millisecond)
		close(gate)
		faults := 0
		for range n {
			if err := <-errs; err != nil {
				faultOf(t, err)
				faults++
			}
		}
		if faults != n {
			t.Errorf("%d of %d pending waits returned the fault", faults, n)
		}
	})
}

// After a stream has returned a fault, an event of that stream must not return it again.
func TestEventsSkipWhatTheirStreamHasReturned(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		s, out := stream(t, c), buffer(t, c, 32)
		e := must(c.NewEvent())(t)
		defer e.Close()
		launchIndex(t, k, s, 1, out, 31, 0)
		faultOf(t, wait(t, s))
		ok(t, s.Record(e))
		ok(t, e.Wait(t.Context()))
	})
}

func prepareIndex(t testing.TB, k *driver.Kernel, out *driver.Buffer[uint32], length, shift uint64) *driver.Launch {
	t.Helper()
	cfg := driver.LaunchConfig{Grid: driver.D1((out.Len() + 31) / 32), Block: driver.D1(32)}
	return must(k.Prepare(cfg, out, length, shift))(t)
}

func instantiated(t testing.TB, c *driver.Context, ops ...driver.Op) *graph.Exec {
	t.Helper()
	g := must(graph.New(c))(t)
	defer g.Close()
	must(g.AddBatch(nil, graph.Chain(ops)))(t)
	return execOf(t, g)
}

func execOf(t testing.TB, g *graph.Graph) *graph.Exec {
	t.Helper()
	x := must(g.Instantiate())(t)
	t.Cleanup(func() { ok(t, x.Close()) })
	return x
}
