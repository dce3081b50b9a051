package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
)

// An exec that was launched in two streams and closed with everything else while
// it ran leaves goroutines that wait for its launches. Driver.Close waits for
// them: a correct program leaks nothing.
func TestClosingTheDriverWaitsForLaunchesOfClosedExecs(t *testing.T) {
	for range 20 {
		emu := emulator.New(emulator.Config{})
		d, err := driver.New(emu)
		succeeds(t, err)
		dev, err := d.Device(0)
		succeeds(t, err)
		c, err := dev.PrimaryContext()
		succeeds(t, err)
		gate := make(chan struct{})
		g, err := graph.New(c)
		succeeds(t, err)
		h, err := driver.NewHostFunc(c, func() { <-gate })
		succeeds(t, err)
		_, err = g.Add(h)
		succeeds(t, err)
		x, err := g.Instantiate()
		succeeds(t, err)
		a, err := c.NewStream()
		succeeds(t, err)
		b, err := c.NewStream()
		succeeds(t, err)
		succeeds(t, x.Launch(a))
		succeeds(t, x.Launch(b))
		succeeds(t, x.Close())
		succeeds(t, g.Close())
		succeeds(t, a.Close())
		succeeds(t, b.Close())
		succeeds(t, c.Close())
		go close(gate)
		succeeds(t, d.Close())
		for _, l := range emu.Leaks() {
			t.Errorf("leaked: %v", l)
		}
	}
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFlagsOfAClosedExecAreNone(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		k.add(g, k.launch(k.plus, k.memory(), 1))
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(x.Close())
		if f, err := x.Flags(); f != 0 || !errors.Is(err, driver.ErrClosed) {
			k.Errorf("flags %d, %v", f, err)
		}
	})
}
