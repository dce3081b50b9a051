package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// The stream of a launch that is under way may be captured when, or after, the
// exec is closed. What waits for the launch must leave the capture alone.
func TestClosingAnExecThatRunsLeavesCapturesOfItsStreamAlone(t *testing.T) {
	each(t, func(k *kit) {
		for _, before := range []bool{true, false} {
			b := k.memoryOf(1)
			l := k.launch(k.plus, b, 2)
			g, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(l) })
			k.ok(err)
			x, err := g.Instantiate()
			k.ok(err)
			release := k.blocked()
			k.ok(x.Launch(k.s))
			if before {
				k.ok(x.Close())
			}
			other, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
				var errs []error
				if !before {
					errs = append(errs, x.Close())
				}
				for range 1000 {
					errs = append(errs, sc.Do(l))
				}
				status, _, err := sc.Status()
				if status != driver.CU_STREAM_CAPTURE_STATUS_ACTIVE {
					t.Errorf("closed before: %v: capture status %v", before, status)
				}
				return errors.Join(append(errs, err)...)
			})
			release()
			k.ok(err)
			k.expect(b, 3)
			graph.WaitParked()
			k.ok(errors.Join(other.Close(), g.Close(), b.Close()))
		}
	})
}
