package callable_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

type twice struct {
	inner callable.Module[affine, *driver.HostBuffer[uint32]]
}

func (m twice) Forward(in affine) ([]uint32, error) {
	out, err := m.inner.Forward(background, in)
	if err != nil {
		return nil, err
	}
	out, err = m.inner.Forward(background, affine{append([]uint32(nil), out.Slice()...), in.times, in.add})
	return out.Slice(), err
}

// A module that calls another module twice must replay the inner module's graph twice.
func TestModulesAreMadeOfModules(t *testing.T) {
	eachMode(t, func(k *kit) {
		m := twice{made(k, k.affine, nil)}
		out, err := m.Forward(affine{ramp(4, 1), 3, 2})
		k.OK(err)
		for i, got := range out {
			if want := (uint32(i+1)*3+2)*3 + 2; got != want {
				t.Errorf("element %d is %d, want %d", i, got, want)
			}
		}
	})
}

// Start must stage the input on the graph's stream without waiting. The launch must run after the
// copy.
func TestStartStagesWithoutWaiting(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(4, 0), 1, 1}})
		release := graphtest.Block(k, k.S)
		defer release()
		in := affine{ramp(4, 7), 1, 1}
		p, err := c.Start(background, in) // a Start that waits would block here
		k.OK(err)
		for i := range in.x {
			in.x[i] = 0 // the input is already staged, so the caller may change it
		}
		release()
		out, err := p.Wait(background)
		k.OK(err)
		k.affineOf(affine{ramp(4, 7), 1, 1}, out)
	})
}

// The output of a call must be returned only once.
func TestOutputOfACallIsHandedOutOnce(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, nil)
		p, err := c.Start(background, affine{ramp(4, 7), 2, 1})
		k.OK(err)
		out, err := p.Wait(background)
		k.OK(err)
		k.affineOf(affine{ramp(4, 7), 2, 1}, out)
		if out, err := p.Wait(background); out != nil || !errors.Is(err, callable.ErrOutputGone) {
			t.Errorf("handed out twice: %v, %v", out, err)
		}
	})
}

// If the function fails, New must release everything, and the stream must stay usable.
func TestCallableIsDiscardedOnError(t *testing.T) {
	eachMode(t, func(k *kit) {
		sentinel := errors.New("no")
		c, err := created(k, func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
			out, err := k.affine(t)
			return out, errors.Join(err, sentinel)
		}, []affine{{ramp(4, 7), 2, 1}})
		if c != nil || !errors.Is(err, sentinel) {
			t.Errorf("got %v, %v", c, err)
		}
		k.Usable(k.S)
	})
}

// Waiting for a call must release objects that only earlier calls used.
func TestWaitReleasesWhatAnEarlierCallUsed(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, func(t *callable.Trace[*driver.Buffer[uint32]]) (int, error) {
			b := callable.Constant(t, func(b *driver.Buffer[uint32]) *driver.Buffer[uint32] { return b })
			t.Launch(k.Plus, config, b, uint32(elems), uint32(1))
			return 0, nil
		}, nil)
		a := k.MemoryOf(1)
		for _, b := range []*driver.Buffer[uint32]{a, k.Memory()} {
			p, err := c.Start(background, b)
			k.OK(err)
			_, err = p.Wait(background)
			k.OK(err)
		}
		k.OK(a.Close())
		if !a.Ref().Lifetime().Ended() {
			t.Error("memory of an earlier call is kept")
		}
	})
}
