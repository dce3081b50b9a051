package callable_test

import (
	"testing"

	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestCallsAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		steadyCalls(newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture)))))
	})
	t.Run("gpu", func(t *testing.T) { steadyCalls(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func steadyCalls(k *kit) {
	k.Helper()
	long, short := affine{ramp(elems, 0), 1, 1}, affine{ramp(8, 0), 1, 1}
	c := made(k, k.affine, []affine{long, short})
	none := k.None
	none("Call", func() {
		_, err := c.Call(background, long)
		k.OK(err)
	})
	none("Call of one shape after another", func() {
		_, err := c.Call(background, long)
		k.OK(err)
		_, err = c.Call(background, short)
		k.OK(err)
	})
	none("Start and Wait", func() {
		p, err := c.Start(background, long)
		k.OK(err)
		_, err = p.Wait(background)
		k.OK(err)
	})
	k.Wait(k.S)
	k.stats(c.Stats(), callable.Stats{Calls: 201 * 4, Recorded: 2, Instantiated: 2, Variants: 2})
}
