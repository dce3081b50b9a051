package faulttest_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/counter"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// Each driver call in a sequence of eager and recorded calls of a Callable fails once. The call in
// which it fails must return the error, and every other call must return the right result.
// Afterwards no object may be open.
func TestEveryDriverCallOfAnAdaptiveCallableMayFail(t *testing.T) {
	t.Run("own memory", func(t *testing.T) { failsAnywhere(t, (*kit).adaptive) })
	t.Run("arena", func(t *testing.T) { failsAnywhere(t, (*kit).adaptiveInArena) })
}

func failsAnywhere(t *testing.T, adaptive func(*kit) []error) {
	t.Helper()
	e := emulator.New(emulator.Config{})
	lib := faulty.Wrap(e)
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	lib.Ignore("cuThreadExchangeStreamCaptureMode") // is part of other calls and cannot fail
	for _, err := range adaptive(k) {
		k.OK(err)
	}
	lib.Count()
	adaptive(k)
	calls := lib.Stop()
	inflight.Waiting.Wait()
	books := graphtest.NewLedger(k.Kit, e)
	seen := map[string]bool{}
	for i, c := range calls {
		if seen[c.Symbol] && i%7 != 0 && testing.Short() {
			continue // in short mode, only the first call of each function and every seventh call fail
		}
		seen[c.Symbol] = true
		failAdaptive(k, adaptive, lib, books, i+1)
	}
}

func failAdaptive(k *kit, adaptive func(*kit) []error, lib *faulty.Library, books *graphtest.Ledger, nth int) {
	k.Helper()
	lib.FailNth(nth, uint32(graphtest.Injected))
	errs := adaptive(k)
	inflight.Waiting.Wait()
	failed := ""
	for _, c := range lib.Stop() {
		if c.Failed {
			failed = c.Symbol
		}
	}
	switch {
	case failed == "": // a wait ended early and made fewer calls
		for _, err := range errs {
			k.OK(err)
		}
	case len(errs) != 1 || graphtest.Cause(errs[0]) != graphtest.Injected || !saysWhich(errs[0], failed):
		k.Errorf("call %d (%s) failed, and the errors were %v", nth, failed, errs)
	default:
		if more := books.More(func(diff string) bool { return notMade(errs[0], failed, diff) }); more != "" {
			k.Errorf("call %d (%s) failed and left %s, the error was: %v", nth, failed, more, errs[0])
		}
	}
	k.Usable(k.S)
	books.Again() // Usable may have opened objects
}

// bytesPerElement is the memory that affine uses per element: staged on the host and on the device,
// and the result.
const bytesPerElement = 3 * 4

// adaptive makes eager and recorded calls of three shapes, with two variants, and returns the
// errors. One shape is given up.
func (k *kit) adaptive() (errs []error) {
	k.Helper()
	return k.adaptively(k.S, k.S)
}

// adaptiveInArena is like adaptive, with an arena and two streams.
func (k *kit) adaptiveInArena() []error {
	k.Helper()
	a, err := arena.New(k.C)
	if err != nil {
		return []error{err}
	}
	other, err := k.C.NewStream()
	if err != nil {
		return []error{errors.Join(err, a.Close())}
	}
	errs := k.adaptively(k.S, other, callable.WithArena(a))
	errs = append(errs, k.overlapping(k.S, other, callable.WithArena(a))...)
	return append(errs, failures(other.Close(), a.Close())...)
}

// overlapping starts a recorded call on the stream s and an eager call on the stream other. The eager
// call waits for the recorded one.
func (k *kit) overlapping(s, other *driver.Stream, in callable.Option) (errs []error) {
	k.Helper()
	first, err := callable.New(s, k.affine, nil, in)
	if err != nil {
		return []error{err}
	}
	second, err := callable.New(other, k.affine, nil, in, callable.WithAdaptive(1<<30))
	if err != nil {
		return []error{errors.Join(err, first.Close())}
	}
	call := affine{ramp(6, 1), 2, 3}
	errs = failures(k.answer(first, call, false), k.answer(second, call, false))
	if len(errs) == 0 { // after a failed call, Start would wait for the stream
		errs = startBoth(s, call, first, second)
	}
	return append(errs, failures(first.Close(), second.Close())...)
}

func startBoth(s *driver.Stream, in affine, calls ...*affineCallable) (errs []error) {
	gate := make(chan struct{})
	if err := s.HostFunc(func() { <-gate }); err != nil {
		return []error{err}
	}
	var pending []callable.Pending[*driver.HostBuffer[uint32]]
	for _, c := range calls {
		p, err := c.Start(background, in)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pending = append(pending, p)
	}
	close(gate)
	for _, p := range pending {
		if _, err := p.Wait(background); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func failures(errs ...error) []error {
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func (k *kit) adaptively(s, other *driver.Stream, opts ...callable.Option) (errs []error) {
	k.Helper()
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	c, err := callable.New(s, k.affine, nil, append(opts, callable.WithAdaptive(2), callable.WithVariants(2))...)
	if err != nil {
		return []error{err}
	}
	for i, n := range []int{3, 3, 4, 3, 3, 5, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4} {
		note(k.answer(c, affine{ramp(n, uint32(i)), 2, uint32(i / 4 * n)}, i%3 == 0))
	}
	for i := range uint32(12) {
		note(k.answer(c, affine{ramp(3, i), 2, i}, false))
	}
	if s := c.Stats(); len(errs) == 0 && (s.GivenUp != 1 || s.Evicted == 0) {
		k.Errorf("the calls did %+v", s)
	}
	note(c.Close())
	if c, err = callable.New(k.S, k.affine, nil, callable.WithMemory(9*bytesPerElement)); err != nil {
		return append(errs, err)
	}
	for i, n := range []int{4, 5, 6, 2, 4} {
		note(k.answer(c, affine{ramp(n, 1), 2, 3}, i%2 == 1))
	}
	if s := c.Stats(); len(errs) == 0 && s.Evicted != 3 {
		k.Errorf("the calls did %+v", s)
	}
	note(c.Close())
	draws, err := counter.New(k.C, 5)
	if err != nil {
		return append(errs, err)
	}
	defer func() { note(draws.Close()) }()
	for _, before := range []bool{false, true} {
		if c, err = callable.New(other, k.scoped(before, draws), nil, append(opts, callable.WithAdaptive(2))...); err != nil {
			return append(errs, err)
		}
		note(k.answer(c, affine{ramp(3, 1), 2, 3}, before))
		note(k.answer(c, affine{ramp(3, 2), 2, 4}, before))
		note(c.Close())
	}
	return errs
}

// scoped is like affine, but also takes numbers, and calls Scope before or after its first launch.
func (k *kit) scoped(before bool, draws *counter.Counter) callable.Func[affine, *driver.HostBuffer[uint32]] {
	return func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
		times := callable.Constant(t, func(in affine) uint32 { return in.times })
		if before {
			t.Scope()
		}
		callable.Take(t, draws, 3)
		t.Launch(k.Times, config, x, uint32(x.Len()), times)
		t.Scope()
		add := callable.StageScalar(t, func(in affine) uint32 { return in.add })
		for i := range x.Len() {
			t.Launch(k.Sum, config, x.View(i, i+1), x.View(i, i+1), add, uint32(1))
		}
		return callable.Result(t, x), nil
	}
}

// answer calls c with in and checks the result. If start is set, it uses Start and Wait.
func (k *kit) answer(c *affineCallable, in affine, start bool) error {
	k.Helper()
	var out *driver.HostBuffer[uint32]
	var err error
	if start {
		var p callable.Pending[*driver.HostBuffer[uint32]]
		if p, err = c.Start(background, in); err == nil {
			out, err = p.Wait(background)
		}
	} else {
		out, err = c.Call(background, in)
	}
	if err != nil {
		return err
	}
	for i, got := range out.Slice() {
		if want := in.x[i]*in.times + in.add; got != want {
			return fmt.Errorf("element %d is %d, want %d", i, got, want)
		}
	}
	return nil
}
