package serve_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestFailedCallHasItsReplicaRebuilt(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool(k.greedy)
		for n := range uint64(3) {
			err := call(background, p, ramp(1, 0))
			if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) || !strings.Contains(err.Error(), fmt.Sprintf("call %d", 2*n+1)) {
				t.Errorf("got %v", err)
			}
			k.OK(call(background, p, ramp(8, uint32(n))))
			if s := p.Stats(); s.Failed != n+1 || s.Rebuilt != n+1 || s.Calls != n+1 || s.Replicas != 1 {
				t.Errorf("did %+v", s)
			}
		}
	})
}

// If the function itself rejects an input, its replica must not be created again.
func TestErrorOfTheFunctionLeavesTheReplica(t *testing.T) {
	each(t, func(k *kit) {
		mine := errors.New("mine")
		p := k.pool(func(t *callable.Trace[[]uint32]) (output, error) {
			if callable.Shape(t, func(in []uint32) int { return len(in) }) == 2 {
				return nil, mine
			}
			return k.affine(t)
		})
		if err := call(background, p, ramp(2, 0)); !errors.Is(err, mine) {
			t.Errorf("got %v", err)
		}
		if err := p.Prepare(ramp(2, 0)); !errors.Is(err, mine) { // must not count as a call
			t.Errorf("got %v", err)
		}
		k.OK(call(background, p, ramp(8, 0)))
		if s := p.Stats(); s.Failed != 1 || s.Rebuilt != 0 {
			t.Errorf("did %+v", s)
		}
	})
}

// faultyKit returns a kit whose driver can be made to fail.
func faultyKit(t *testing.T) (*kit, *faulty.Library, *emulator.Emulator) {
	e := emulator.New(emulator.Config{})
	lib := faulty.Wrap(e)
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	lib.Ignore("cuThreadExchangeStreamCaptureMode") // a part of other calls, and cannot fail
	return k, lib, e
}

func TestRebuildThatFailsIsTriedAgain(t *testing.T) {
	k, lib, _ := faultyKit(t)
	p := k.pool(k.greedy)
	if err := call(background, p, ramp(1, 0)); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
		t.Errorf("got %v", err)
	}
	for n := range uint64(2) { // since no other replica works, the calls get the error
		lib.FailCall("cuGraphInstantiateWithParams", 1, uint32(graphtest.Injected))
		if err := call(background, p, ramp(8, 0)); !errors.Is(err, graphtest.Injected) || !strings.Contains(err.Error(), "creating one failed") {
			t.Errorf("got %v", err)
		}
		lib.Stop()
		if s := p.Stats(); s.BuildsFailed != n+1 || !errors.Is(s.BuildError, graphtest.Injected) || s.Rebuilt != 0 || s.Busy != 0 {
			t.Errorf("did %+v", s)
		}
	}
	k.OK(call(background, p, ramp(8, 0)))
	if s := p.Stats(); s.Rebuilt != 1 || s.Failed != 3 || s.Calls != 1 {
		t.Errorf("did %+v", s)
	}
}

// While another replica works, a failed rebuild must not make a call fail. The rebuild must be
// tried again later.
func TestRebuildThatFailsWhileAnotherReplicaWorks(t *testing.T) {
	k, lib, _ := faultyKit(t)
	p := k.pool(k.greedy, serve.WithReplicas(2))
	p.SetPause(time.Hour)
	if err := call(background, p, ramp(1, 0)); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
		t.Errorf("got %v", err)
	}
	var second, third <-chan error
	k.OK(p.Call(background, ramp(8, 0), func(output) error { // use the only replica that works
		lib.FailCall("cuGraphInstantiateWithParams", 1, uint32(graphtest.Injected))
		second = start(background, p, 0, checked(ramp(8, 5)))
		k.queued(p, 1)
		lib.Stop()
		if s := p.Stats(); s.BuildsFailed != 1 || s.Rebuilt != 0 {
			t.Errorf("did %+v", s)
		}
		third = start(background, p, 0, checked(ramp(8, 5))) // arrives within the pause, so it only waits
		k.queued(p, 2)
		return nil
	}))
	k.OK(<-second)
	k.OK(<-third)
	if s := p.Stats(); s.Rebuilt != 0 || s.Calls != 3 || s.BuildsFailed != 1 {
		t.Errorf("did %+v", s)
	}
}

// If the last replica breaks while calls wait, each of the waiting calls must try to create it
// again.
func TestCallsThatWaitForABrokenReplica(t *testing.T) {
	k, lib, _ := faultyKit(t)
	p := k.pool(k.greedy)
	hold := make(chan struct{})
	var first <-chan error
	lib.Before(func(symbol string) {
		if symbol == "cuGraphLaunch" {
			<-hold
		}
	})
	lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
	first = start(background, p, 0, nil)
	k.busy(p, 1)
	var waiting []<-chan error
	for i := range 3 {
		waiting = append(waiting, start(background, p, 0, checked(ramp(8, 5))))
		k.queued(p, i+1)
	}
	close(hold)
	if err := <-first; !errors.Is(err, graphtest.Injected) {
		t.Errorf("got %v", err)
	}
	for _, w := range waiting {
		k.OK(<-w)
	}
	lib.Before(nil)
	lib.Stop()
	if s := p.Stats(); s.Rebuilt != 1 || s.Calls != 3 {
		t.Errorf("did %+v", s)
	}
}

// If no replica works and creating one fails, the error of a call that waited must be counted.
func TestCallThatWaitsForAReplicaThatCannotBeCreated(t *testing.T) {
	k, lib, _ := faultyKit(t)
	p := k.pool(k.greedy)
	hold := make(chan struct{})
	lib.Before(func(symbol string) {
		if symbol == "cuMemAlloc_v2" {
			<-hold
		}
	})
	first := make(chan error, 1)
	go func() { first <- call(background, p, ramp(1, 0)) }() // the allocation of this call fails
	k.busy(p, 1)
	second := start(background, p, 0, nil)
	k.queued(p, 1)
	lib.FailCall("cuGraphInstantiateWithParams", 1, uint32(graphtest.Injected))
	close(hold)
	if err := <-first; !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
		t.Errorf("got %v", err)
	}
	if err := <-second; !errors.Is(err, graphtest.Injected) {
		t.Errorf("got %v", err)
	}
	lib.Stop()
	lib.Before(nil)
	if s := p.Stats(); s.Failed != 2 || s.BuildsFailed != 1 || s.Rebuilt != 0 {
		t.Errorf("did %+v", s)
	}
}

// If a wait fails while the call's work still runs, neither a rebuild nor Close may release memory
// that the work uses. It must be possible to cancel a call that waits for the rebuild.
func TestWorkThatAFailedCallLeft(t *testing.T) {
	k, lib, _ := faultyKit(t)
	f, open, entered := k.gate(func(t *callable.Trace[[]uint32]) (output, error) {
		return callable.Result(t, callable.Scratch[uint32](t, 8)), nil // no input, because Close would wait for its copy
	})
	p := k.pool(f)
	lib.FailCall("cuStreamQuery", 1, uint32(graphtest.Injected))
	if err := call(background, p, ramp(8, 0)); !errors.Is(err, graphtest.Injected) {
		t.Errorf("got %v", err)
	}
	lib.Stop()
	entered()
	ctx, cancel := context.WithCancel(background)
	waiting := start(ctx, p, 0, nil)
	k.busy(p, 1)
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if s := p.Stats(); s.Busy != 0 || s.CancelledQueued != 1 || s.Rebuilt != 0 {
		t.Errorf("did %+v", s)
	}
	var opened atomic.Bool
	closed := make(chan error)
	go func() {
		err := p.Close()
		if !opened.Load() {
			err = errors.Join(err, errors.New("Close returned while work was running"))
		}
		closed <- err
	}()
	time.Sleep(20 * time.Millisecond) // a Close that does not wait would return now
	opened.Store(true)
	open()
	k.OK(<-closed)
}

// flows are typical uses of a Pool. Each returns all errors that a program would see.
var flows = map[string]func(k *kit) error{
	"calls": func(k *kit) error {
		return with(k, k.affine, func(p *pool) error {
			return errors.Join(call(background, p, ramp(8, 1)), p.Prepare(ramp(3, 0)), call(background, p, ramp(3, 1)), call(background, p, ramp(4, 1)))
		}, serve.WithReplicas(2))
	},
	"growth": func(k *kit) error {
		return with(k, k.affine, func(p *pool) error {
			var nested error
			err := p.Call(background, ramp(8, 1), func(output) error {
				nested = call(background, p, ramp(8, 2))
				return nil
			})
			if errors.Is(nested, serve.ErrBusy) && p.Stats().BuildError != nil {
				nested = p.Stats().BuildError
			}
			return errors.Join(err, nested, p.Stats().BuildError)
		}, serve.WithGrowth(2, 1), serve.WithQueue(0))
	},
	"rebuild": func(k *kit) error {
		return with(k, k.greedy, func(p *pool) error {
			err := call(background, p, ramp(1, 0))
			if errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) && !errors.Is(err, graphtest.Injected) {
				err = nil
			}
			return errors.Join(err, call(background, p, ramp(8, 2)), p.Stats().BuildError)
		})
	},
}

func init() {
	flows["two pools in one arena"] = func(k *kit) error {
		a, err := arena.New(k.C)
		if err != nil {
			return err
		}
		err = with(k, k.model(10), func(p *pool) error {
			return with(k, k.model(20), func(q *pool) error {
				return errors.Join(call(background, p, ramp(8, 1)), call(background, q, ramp(8, 1)), call(background, p, ramp(3, 1)),
					call(background, q, ramp(4, 1)))
			}, serve.WithArenas(a))
		}, serve.WithArenas(a))
		return errors.Join(err, a.Close())
	}
	// A call is cancelled while its work runs, and another follows when the work has ended. If the
	// wait in between fails, only the Stats show it, because the cancelled call has returned.
	flows["cancellation"] = func(k *kit) error {
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		returned := make(chan struct{})
		return with(k, func(t *callable.Trace[[]uint32]) (output, error) {
			h, err := driver.NewHostFunc(k.C, func() {
				cancel()
				<-returned
			})
			if err != nil {
				return nil, err
			}
			t.Do(h)
			return k.affine(t)
		}, func(p *pool) error {
			err := call(ctx, p, ramp(8, 1))
			close(returned)
			if errors.Is(err, context.Canceled) {
				err = nil
			}
			err = errors.Join(err, call(background, p, ramp(8, 2)), p.Stats().BuildError)
			if p.Stats().Rebuilt > 0 {
				err = errors.Join(err, graphtest.Injected)
			}
			return err
		})
	}
}

func with(k *kit, f fn, use func(p *pool) error, opts ...serve.Option) error {
	p, err := serve.New(k.C, f, [][]uint32{ramp(8, 0)}, opts...)
	if err != nil {
		return err
	}
	err = use(p)
	if err != nil { // the failure must not be permanent
		k.OK(call(background, p, ramp(8, 7)))
	}
	err = errors.Join(err, p.Close())
	if s := p.Stats(); s.Busy != 0 || s.Queued != 0 {
		k.Errorf("left: %+v", s)
	}
	return err
}

// The test makes each driver call of each flow fail once. Afterwards no object may be open, later
// calls must succeed, and at least one call must have returned the error.
func TestEveryCallMayFail(t *testing.T) {
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) {
			k, lib, e := faultyKit(t)
			k.OK(flow(k)) // the first run loads the kernels
			lib.Count()
			k.OK(flow(k))
			calls := lib.Stop()
			inflight.Waiting.Wait()
			books := graphtest.NewLedger(k.Kit, e)
			if len(calls) < 50 {
				t.Fatalf("the flow makes %d calls only", len(calls))
			}
			seen := map[string]bool{}
			for i, c := range calls[:min(len(calls), 300)] { // limited, because waits query in a loop
				if seen[c.Symbol] && i%7 != 0 && testing.Short() {
					continue // in short mode, only the first call of each function and every seventh call fail
				}
				seen[c.Symbol] = true
				failOnce(k, lib, books, flow, i+1)
			}
		})
	}
}

// harmless reports whether a flow may succeed although a driver call failed. Such calls query
// whether the context is lost, wait before a replica is closed, or query whether a cancelled call's
// work has ended. It uses the stack of the failed call. The position of the call does not identify
// it, because waits query a varying number of times, and because a goroutine that moves to another
// thread makes the context current there.
func harmless(failed faulty.Call) bool {
	in := func(function string) bool { return strings.Contains(failed.Stack, function+"(") }
	closes := in("serve.(*Pool[...]).close") || in("serve.(*Pool[...]).repair")
	drains := in("serve.(*Pool[...]).isIdle") || in("serve.(*Pool[...]).drain") // the cancelled call has already returned its error
	return in("serve.stateOf") || drains || in("driver.(*Stream).Wait") && closes
}

// failOnce runs a flow whose nth call fails.
func failOnce(k *kit, lib *faulty.Library, books *graphtest.Ledger, flow func(k *kit) error, nth int) {
	k.Helper()
	lib.FailNth(nth, uint32(graphtest.Injected))
	err := flow(k)
	inflight.Waiting.Wait()
	var failed faulty.Call
	for _, c := range lib.Stop() {
		if c.Failed {
			failed = c
		}
	}
	symbol := failed.Symbol
	switch {
	case symbol == "": // a wait ended earlier than usual and made fewer calls
		k.OK(err)
	case err == nil && harmless(failed):
	case err == nil:
		k.Errorf("call %d (%s) failed without an error", nth, symbol)
	case !errors.Is(err, graphtest.Injected):
		k.Errorf("call %d (%s): the error is lost: %v", nth, symbol, err)
	}
	if more := books.More(func(diff string) bool { return notMade(err, symbol, diff) }); more != "" {
		k.Errorf("call %d (%s) failed and left %s, the error was: %v", nth, symbol, more, err)
	}
	books.Again()
}

// notMade reports whether an object could not be released because the driver failed to make the
// context current. One object and its user object may then remain open. There is no other way to
// release them.
func notMade(err error, symbol, more string) bool {
	more = strings.Trim(strings.Replace(more, "1 more user object", "", 1), ", ")
	if strings.Contains(more, "1 more physical memory") { // if this memory remains, so does its address range
		more = strings.Trim(strings.Replace(more, "1 more address range", "", 1), ", ")
	}
	one := more == "" || strings.HasPrefix(more, "1 more ") && !strings.Contains(more, ",")
	return (symbol == "cuCtxGetCurrent" || symbol == "cuCtxSetCurrent") && one && err != nil && faulty.GivesBack(err.Error())
}
