package graph

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// A capture into a graph that was closed since the caller looked is refused.
func TestCaptureIntoAGraphThatWasJustClosed(t *testing.T) {
	c := gputest.Context(t, gputest.Driver(t, emulator.New(emulator.Config{})))
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	r := &recording{into: target{g: g}, s: s, mode: ModeThreadLocal}
	if err := r.beginInto(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("began: %v", err)
	}
}
