package callable_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestCallsAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		steadyCalls(newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture)))))
	})
	t.Run("null, arena", func(t *testing.T) {
		steadyCalls(newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture)))).inArena())
	})
	t.Run("gpu", func(t *testing.T) { steadyCalls(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
	t.Run("gpu, arena", func(t *testing.T) { steadyCalls(newKit(t, gputest.Context(t, gputest.GPU(t))).inArena()) })
}

func steadyCalls(k *kit) {
	k.Helper()
	long, short := affine{ramp(elems, 0), 1, 1}, affine{ramp(8, 0), 1, 1}
	c := made(k, k.affine, []affine{long, short}, callable.WithMemory(1<<20))
	calls := k.None("Call", func() {
		_, err := c.Call(background, long)
		k.OK(err)
	})
	calls += 2 * k.None("Call of one shape after another", func() {
		_, err := c.Call(background, long)
		k.OK(err)
		_, err = c.Call(background, short)
		k.OK(err)
	})
	calls += k.None("Start and Wait", func() {
		p, err := c.Start(background, long)
		k.OK(err)
		_, err = p.Wait(background)
		k.OK(err)
	})
	k.eagerCalls()
	k.Wait(k.S)
	k.stats(c.Stats(), callable.Stats{Calls: uint64(calls), Recorded: 2, Instantiated: 2, Variants: 2})
}

// eagerCalls checks that an eager call allocates only its Trace, in addition to what the function
// allocates. A call of Launch allocates the list of its arguments and some of their values.
func (k *kit) eagerCalls() {
	k.Helper()
	b := k.Memory()
	plus := k.Launch(k.Plus, b, 1)
	draws := k.counter(0)
	type input struct {
		x []uint32
		v uint32
	}
	f := func(launches int) callable.Func[input, *driver.HostBuffer[uint32]] {
		return func(t *callable.Trace[input]) (*driver.HostBuffer[uint32], error) {
			x := callable.StageSlice(t, func(in input) []uint32 { return in.x })
			callable.StageScalar(t, func(in input) uint32 { return in.v })
			callable.Shape(t, func(in input) bool { return in.v > 1000 })
			callable.Constant(t, func(in input) uint32 { return in.v })
			callable.Scratch[uint32](t, 5)
			callable.Take(t, draws, 3)
			t.Do(plus)
			for range launches {
				t.Launch(k.Plus, config, x, uint32(4), uint32(2)) // small numbers need no memory
			}
			return callable.Result(t, x), nil
		}
	}
	for _, launches := range []int{0, 1, 3} {
		c := made(k, f(launches), nil, callable.WithAdaptive(1<<30))
		in := input{ramp(8, 0), 1}
		k.allocates("an eager call", 1+launches, func() {
			_, err := c.Call(background, in)
			k.OK(err)
			in.v++
		})
		k.allocates("an eager call that is started", 1+launches, func() {
			p, err := c.Start(background, in)
			k.OK(err)
			_, err = p.Wait(background)
			k.OK(err)
		})
		k.allocates("an eager call that nobody waits for", 1+launches, func() {
			_, err := c.Start(background, in)
			k.OK(err)
		})
		k.Wait(k.S)
	}
}

func (k *kit) allocates(what string, want int, f func()) {
	k.Helper()
	f()
	k.Most(float64(want), what, f)
}
