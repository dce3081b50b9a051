package callable_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// A shape was called eagerly. Its first recorded call copies the input, but the launch fails. No
// graph in flight retains the page-locked memory of the input, so Close must wait for the stream
// before it frees that memory. The driver also waits when it frees memory, so only the calls show
// this.
func TestCloseWaitsForTheInputOfALaunchThatFailed(t *testing.T) {
	for name, adaptive := range map[string]int{"after an eager call": 1, "without eager calls": 0} {
		t.Run(name, func(t *testing.T) {
			lib := faulty.Wrap(emulator.New(emulator.Config{}))
			k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
			in := affine{ramp(4, 1), 2, 3}
			c, err := created(k, k.affine, nil, callable.WithAdaptive(adaptive))
			k.OK(err)
			if adaptive > 0 {
				k.answers(c, in)
			}
			lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
			if _, err := c.Call(background, in); !errors.Is(err, graphtest.Injected) {
				t.Errorf("got %v", err)
			}
			lib.Count()
			k.OK(c.Close())
			calls := lib.Stop()
			waits := slices.IndexFunc(calls, func(c faulty.Call) bool {
				return strings.HasPrefix(c.Symbol, "cuStreamQuery") || strings.HasPrefix(c.Symbol, "cuStreamSynchronize")
			})
			frees := slices.IndexFunc(calls, func(c faulty.Call) bool { return strings.HasPrefix(c.Symbol, "cuMemFree") })
			if waits < 0 || frees < waits {
				t.Errorf("Close did not wait before it freed memory: %v", calls)
			}
		})
	}
}
