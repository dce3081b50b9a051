package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// failing runs something once to see that it works, and then with each of its
// driver calls failing, which has to be the error.
func (k *kit) failing(lib *faulty.Library, what string, run func() error) {
	k.Helper()
	k.ok(run())
	lib.Count()
	err := run()
	calls := lib.Stop()
	k.ok(err)
	if len(calls) == 0 {
		k.Errorf("%s makes no driver call", what)
	}
	for i, c := range calls {
		lib.FailNth(i+1, uint32(injected))
		err := run()
		lib.Stop()
		if !errors.Is(err, injected) {
			k.Errorf("%s: %s failed (call %d of %d), got %v", what, c.Symbol, i+1, len(calls), err)
		}
		k.usable(k.s)
	}
}

// What is captured into the body of a conditional node, after a node that is
// there, fails with the call that fails.
func TestCapturesIntoABodyReportEachFailure(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	lib.Ignore("cuThreadExchangeStreamCaptureMode", "cuCtxSetCurrent", "cuCtxGetCurrent")
	l := k.launch(k.plus, k.memory(), 1)
	k.failing(lib, "a capture into a body", func() error {
		g, err := graph.New(k.c)
		if err != nil {
			return err
		}
		c, err := g.NewCond()
		if err != nil {
			return errors.Join(err, g.Close())
		}
		_, body, err := g.AddIf(c)
		if err != nil {
			return errors.Join(err, g.Close())
		}
		first, err := body.Add(l)
		if err != nil {
			return errors.Join(err, g.Close())
		}
		last, err := intoGraph(body, k.s, graph.ModeThreadLocal, []graph.Node{first}, func(sc *graph.Scope) error {
			return errors.Join(sc.Do(l), sc.Do(l))
		})
		if err != nil {
			return errors.Join(err, g.Close())
		}
		deps, err := last[0].Dependencies()
		if err == nil && len(deps) != 1 {
			err = errors.New("the last node does not come after the first")
		}
		return errors.Join(err, g.Close())
	})
}

// A body keeps alive what its capture was told to, by the graph that it comes to
// lie in; that it cannot is an error of the capture.
func TestWhatABodyRetainsIsRetainedByItsGraph(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	lib.Ignore("cuThreadExchangeStreamCaptureMode", "cuCtxSetCurrent", "cuCtxGetCurrent")
	l := k.launch(k.plus, k.memory(), 1)
	capture := func() error {
		u, err := k.c.NewUserObject(func() {})
		if err != nil {
			return err
		}
		g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			c, err := sc.NewCond()
			if err != nil {
				return err
			}
			return sc.If(c, func(inner *graph.Scope) error {
				body, err := inner.Graph()
				if err != nil {
					return err
				}
				if err := body.RetainUserObject(u, 1); err != nil {
					return err
				}
				return inner.Do(l)
			})
		})
		if err != nil {
			return errors.Join(err, u.Close())
		}
		return errors.Join(g.Close(), u.Close())
	}
	k.failing(lib, "a body with a user object", capture)
}

// Memory of a graph that goes back to a cache in a capture that others made is
// freed there.
func TestACacheFreesIntoACaptureOfOthers(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	blocks, err := cache.New(k.c)
	k.ok(err)
	k.closeLater(blocks)
	g, b := k.leaving(3)
	x := k.exec(g)
	k.run(x)
	d := k.c.Driver()
	k.ok(d.CuStreamBeginCapture(k.s.Raw(), cu.CU_STREAM_CAPTURE_MODE_RELAXED))
	err = blocks.Free(k.s, b)
	var raw driver.CUgraph
	ended := d.CuStreamEndCapture(k.s.Raw(), &raw)
	if err == nil && ended != nil {
		t.Errorf("the capture is broken (%v), and nobody said so", ended)
	}
	if raw != 0 {
		k.ok(d.CuGraphDestroy(raw))
	}
	if err := b.Fill(1); !errors.Is(err, driver.ErrClosed) && err == nil {
		t.Error("the buffer is still open")
	}
}
