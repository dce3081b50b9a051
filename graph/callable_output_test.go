package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// twice is a layer of a model: a module made of another and a Callable.
type twice struct {
	inner graph.Module[affine, *driver.HostBuffer[uint32]]
}

func (m twice) Forward(in affine) ([]uint32, error) {
	out, err := m.inner.Forward(background, in)
	if err != nil {
		return nil, err
	}
	out, err = m.inner.Forward(background, affine{append([]uint32(nil), out.Slice()...), in.times, in.add})
	return out.Slice(), err
}

// A module made of another forwards twice by the same graph.
func TestModulesAreMadeOfModules(t *testing.T) {
	each(t, func(k *kit) {
		m := twice{callable(k, k.affine, nil)}
		out, err := m.Forward(affine{ramp(4, 1), 3, 2})
		k.ok(err)
		for i, got := range out {
			if want := (uint32(i+1)*3+2)*3 + 2; got != want {
				t.Errorf("element %d is %d, want %d", i, got, want)
			}
		}
	})
}

// Start stages the input without waiting, on the graph's stream,
// and the launch is ordered behind it.
func TestStartStagesWithoutWaiting(t *testing.T) {
	each(t, func(k *kit) {
		c := callable(k, k.affine, []affine{{ramp(4, 0), 1, 1}})
		release := k.blocked()
		defer release()
		in := affine{ramp(4, 7), 1, 1}
		p, err := c.Start(background, in) // would not return if it waited
		k.ok(err)
		for i := range in.x {
			in.x[i] = 0 // staged, so the caller's again
		}
		release()
		out, err := p.Wait(background)
		k.ok(err)
		k.affineOf(affine{ramp(4, 7), 1, 1}, out)
	})
}

// The output is handed out once, then nothing.
func TestOutputOfACallIsHandedOutOnce(t *testing.T) {
	each(t, func(k *kit) {
		c := callable(k, k.affine, nil)
		p, err := c.Start(background, affine{ramp(4, 7), 2, 1})
		k.ok(err)
		out, err := p.Wait(background)
		k.ok(err)
		k.affineOf(affine{ramp(4, 7), 2, 1}, out)
		if out, err := p.Wait(background); out != nil || !errors.Is(err, graph.ErrOutputGone) {
			t.Errorf("handed out twice: %v, %v", out, err)
		}
	})
}

// A function that fails leaves no Callable, and the stream usable.
func TestCallableIsDiscardedOnError(t *testing.T) {
	each(t, func(k *kit) {
		sentinel := errors.New("no")
		c, err := graph.NewCallable(k.s, func(t *graph.Trace[affine]) (*driver.HostBuffer[uint32], error) {
			out, err := k.affine(t)
			return out, errors.Join(err, sentinel)
		}, []affine{{ramp(4, 7), 2, 1}})
		if c != nil || !errors.Is(err, sentinel) {
			t.Errorf("got %v, %v", c, err)
		}
		k.usable(k.s)
	})
}
