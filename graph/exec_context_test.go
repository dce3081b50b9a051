package graph_test

import (
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// A launch runs in the context of its stream, whatever the thread has.
func TestLaunchIsInTheContextOfItsStream(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		d := c.Device().Driver()
		defer func() { check(t, d.CuCtxSetCurrent(0)) }()
		other, err := c.Device().NewContext(0)
		check(t, err)
		defer other.Close()

		buf, err := driver.Alloc[uint32](c, 4)
		check(t, err)
		defer buf.Close()
		op, err := driver.Fill(buf, uint32(6))
		check(t, err)
		g, err := graph.New(c)
		check(t, err)
		defer g.Close()
		_, err = g.Add(op)
		check(t, err)
		x, err := g.Instantiate()
		check(t, err)
		defer x.Close()
		s, err := c.NewStream()
		check(t, err)
		defer s.Close()

		for _, current := range []driver.CUcontext{0, other.Raw()} {
			check(t, buf.Fill(0))
			check(t, d.CuCtxSetCurrent(current))
			check(t, x.Launch(s))
			check(t, s.Wait(t.Context()))
			got := make([]uint32, 4)
			check(t, buf.CopyTo(got))
			if got[3] != 6 {
				t.Errorf("with context %#x current: %v, want all 6", current, got)
			}
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
