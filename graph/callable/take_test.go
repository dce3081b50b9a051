package callable_test

import (
	"context"
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/counter"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

// draw is the input of a function that takes n numbers and returns the first. The length of x is
// the shape, and n is a constant.
type draw struct {
	x []uint32
	n uint64 // count of numbers, a constant
}

type drawCallable = callable.Callable[draw, *driver.HostBuffer[uint64]]

func drawing(c *counter.Counter) callable.Func[draw, *driver.HostBuffer[uint64]] {
	return func(t *callable.Trace[draw]) (*driver.HostBuffer[uint64], error) {
		callable.StageSlice(t, func(in draw) []uint32 { return in.x })
		at := callable.Take(t, c, callable.Constant(t, func(in draw) uint64 { return in.n }))
		return callable.Result(t, at), nil
	}
}

func (k *kit) counter(start uint64) *counter.Counter {
	k.Helper()
	c, err := counter.New(k.C, start)
	k.OK(err)
	k.CloseLater(c)
	return c
}

func (k *kit) draws(c *drawCallable, in draw, want uint64) {
	k.Helper()
	out, err := c.Call(background, in)
	k.OK(err)
	if got := out.Slice()[0]; got != want {
		k.Errorf("took %d, want %d", got, want)
	}
}

// Eager and replayed calls of several shapes and Callables must take consecutive numbers from a
// shared Counter. A Callable with another Counter must not affect it.
func TestCallsTakeDifferentNumbers(t *testing.T) {
	each(t, func(k *kit) {
		shared := k.counter(100)
		a := made(k, drawing(shared), nil, callable.WithAdaptive(2))
		b := made(k, drawing(shared), []draw{{ramp(1, 0), 4}})
		other := made(k, drawing(k.counter(7)), nil, callable.WithAdaptive(1))
		next := uint64(100)
		for i := range uint64(12) {
			k.draws(a, draw{ramp(1, 0), 4}, next)
			k.draws(a, draw{ramp(2, 0), 10}, next+4)
			k.draws(b, draw{ramp(1, 0), 4}, next+14)
			k.draws(other, draw{ramp(1, 0), 1}, 7+i)
			next += 18
		}
		k.stats(a.Stats(), callable.Stats{Calls: 24, Eager: 4, Recorded: 2, Instantiated: 2, Variants: 2})
		set, err := shared.Set(5)
		k.OK(err)
		k.OK(k.S.Do(set))
		k.draws(a, draw{ramp(1, 0), 4}, 5)
		k.draws(b, draw{ramp(1, 0), 4}, 9)
	})
}

// The count of numbers is a constant. If it changes in each call, the shape must return to eager
// calls, and no number may be lost or taken twice.
func TestCountOfNumbersMayChange(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, drawing(k.counter(0)), nil, callable.WithAdaptive(1))
		next := uint64(0)
		for i := range uint64(40) {
			k.draws(c, draw{ramp(1, 0), i}, next)
			next += i
		}
		if s := c.Stats(); s.GivenUp != 1 {
			t.Errorf("did %+v", s)
		}
	})
}

// A started call must take its numbers even if the program does not wait for it or cancels the
// wait. A call that is cancelled before it is enqueued must take none.
func TestCancelledCallsTakeTheirNumbers(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, drawing(k.counter(0)), nil)
		in := draw{ramp(1, 0), 1}
		k.draws(c, in, 0)
		release := graphtest.Block(k, k.S)
		defer release()
		ctx, cancel := context.WithCancel(background)
		p, err := c.Start(ctx, in)
		k.OK(err)
		cancel()
		for what, err := range map[string]error{
			"wait":  second(p.Wait(ctx)),
			"call":  second(c.Call(ctx, in)),
			"start": second(c.Start(ctx, in)),
		} {
			if !errors.Is(err, context.Canceled) {
				k.Errorf("%s: %v", what, err)
			}
		}
		release()
		out, err := p.Wait(background)
		k.OK(err)
		if got := out.Slice()[0]; got != 1 {
			k.Errorf("the cancelled call took %d, want 1", got)
		}
		for range 3 {
			_, err := c.Start(background, in)
			k.OK(err)
		}
		k.draws(c, in, 5)
	})
}

func second[T any](_ T, err error) error { return err }

func TestTakeFromNothingIsRefused(t *testing.T) {
	eachMode(t, func(k *kit) {
		_, err := created(k, drawing(nil), []draw{{ramp(1, 0), 1}})
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("got %v", err)
		}
		if callable.Take[draw](nil, nil, 1) != nil {
			t.Error("a nil Trace gave memory")
		}
	})
}
