package callable_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// The calls of this driver do nothing, so the results are this module's host time for one call:
// eager, replayed, and with an update in each call.
func BenchmarkCall(b *testing.B) {
	for _, launches := range []int{1, 16, 160} {
		for _, mode := range []struct {
			name    string
			changes uint32
			opts    []callable.Option
			arena   bool
		}{
			{"eager", 0, []callable.Option{callable.WithAdaptive(1 << 30)}, false},
			{"eager, changing", 1, []callable.Option{callable.WithAdaptive(1 << 30)}, false},
			{"eager, arena", 0, []callable.Option{callable.WithAdaptive(1 << 30)}, true},
			{"replayed", 0, nil, false},
			{"replayed, arena", 0, nil, true},
			{"updated", 1, nil, false},
		} {
			b.Run(fmt.Sprintf("%d launches/%s", launches, mode.name), func(b *testing.B) {
				k := newKit(b, gputest.Context(b, gputest.Driver(b, new(graphtest.NullCapture))))
				if mode.arena {
					k.inArena()
				}
				c := made(k, k.several(launches), nil, mode.opts...)
				in := affine{ramp(elems, 0), 1, 1}
				b.ReportAllocs()
				for b.Loop() {
					in.add += mode.changes
					_, err := c.Call(background, in)
					k.OK(err)
				}
			})
		}
	}
}

func (k *kit) several(launches int) callable.Func[affine, *driver.HostBuffer[uint32]] {
	return func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
		add := callable.Constant(t, func(in affine) uint32 { return in.add })
		for range launches {
			t.Launch(k.Plus, config, x, uint32(x.Len()), add)
		}
		return callable.Result(t, x), nil
	}
}
