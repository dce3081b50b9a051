package callable_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
)

// limits is the input of a function that doubles a start value until it reaches a limit. The limit
// is a constant, because it is an argument of the loop's kernel.
type limits struct{ start, limit uint32 }

func TestCallableMayLoopOnTheDevice(t *testing.T) {
	eachMode(t, func(k *kit) {
		f := func(t *callable.Trace[limits]) (*driver.HostBuffer[uint32], error) {
			x := callable.StageScalar(t, func(in limits) uint32 { return in.start })
			limit := callable.Constant(t, func(in limits) uint32 { return in.limit })
			sc := t.Scope()
			below, err := sc.NewCond()
			if err != nil {
				return nil, err
			}
			test, err := below.SetWhen(graph.When(x, graph.Less, limit))
			if err != nil {
				return nil, err
			}
			double, err := k.Times.Prepare(config, x, uint32(1), uint32(2))
			if err != nil {
				return nil, err
			}
			t.Do(test)
			if err := sc.While(below, func(sc *graph.Scope) error { return errors.Join(sc.Do(double), sc.Do(test)) }); err != nil {
				return nil, err
			}
			return callable.Result(t, x), nil
		}
		c := made(k, f, nil)
		for _, in := range []limits{{1, 100}, {1, 100}, {3, 100}, {100, 100}, {3, 1000}, {1, 5}, {1, 100}} {
			want := in.start
			for want < in.limit {
				want *= 2
			}
			out, err := c.Call(background, in)
			k.OK(err)
			if got := out.Slice()[0]; got != want {
				t.Errorf("%+v gave %d, want %d", in, got, want)
			}
		}
		if s := c.Stats(); s.Recorded != 4 || s.Updated+s.Instantiated != 4 {
			t.Errorf("did %+v", s)
		}
	})
}

// If the recording of a body fails, so must the recording of the function.
func TestFailedBodyFailsTheTrace(t *testing.T) {
	eachMode(t, func(k *kit) {
		sentinel := errors.New("of the body")
		_, err := created(k, func(t *callable.Trace[limits]) (int, error) {
			callable.StageScalar(t, func(in limits) uint32 { return in.start })
			c, err := t.Scope().NewCond()
			if err != nil {
				return 0, err
			}
			return 0, t.Scope().If(c, func(*graph.Scope) error { return sentinel })
		}, []limits{{}})
		if !errors.Is(err, sentinel) {
			t.Errorf("got %v", err)
		}
		k.Usable(k.S)
	})
}
