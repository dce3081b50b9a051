package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// An exec that is closed while it runs is given back when it has ended. To find
// that out must not touch the stream of its launch: that may be captured by
// now, and a wait or query would end the capture.
func TestCloseDuringCaptureOfTheSameStream(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		l := k.launch(k.plus, b, 1)
		g := k.graph()
		k.add(g, l)
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(x.Launch(k.s))
		captured := k.capture(func(sc *graph.Scope) error {
			return errors.Join(sc.Do(l), x.Close(), sc.Do(l))
		})
		graph.WaitParked()
		k.run(k.exec(captured))
		k.expect(b, 4)
	})
}

// The same of what an update has taken out of use.
func TestRetireDuringCaptureOfTheSameStream(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		a := k.memory()
		n := k.add(g, k.launch(k.plus, a, 1))
		x := k.exec(g)
		k.ok(x.Launch(k.s))
		var others []*driver.Buffer[uint32]
		for range 200 { // more than are worth an event
			others = append(others, k.memoryOf(1))
		}
		captured := k.capture(func(sc *graph.Scope) error {
			for _, b := range others {
				if err := errors.Join(x.Set(n, k.launch(k.plus, b, 1)), b.Close()); err != nil {
					return err
				}
			}
			return sc.Do(k.launch(k.plus, a, 1))
		})
		k.run(k.exec(captured))
		k.expect(a, 3)
	})
}

// A program that waits by events of its own says so, and what its launches used is
// released. A number of launches that were not made yet counts as those that were.
func TestNoteEndedReleasesWhatLaunchesUsed(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		a, b := k.memoryOf(1), k.memoryOf(1)
		n := k.add(g, k.launch(k.plus, a, 1))
		x := k.exec(g)
		replace := func(m, by *driver.Buffer[uint32]) {
			k.Helper()
			k.ok(x.Launch(k.s))
			k.wait(k.s) // which the Exec does not know
			l := k.launch(k.plus, by, 1)
			k.ok(errors.Join(x.Set(n, l), n.Set(l), m.Close()))
			x.NoteEnded(x.Replays() - 1)
			if m.Ref().Lifetime().Ended() {
				t.Error("memory was released though its launch may still run")
			}
			x.NoteEnded(x.Replays() + 1)
			if !m.Ref().Lifetime().Ended() {
				t.Error("memory is kept though its launch has ended")
			}
		}
		replace(a, b)
		replace(b, k.memory())
		(*graph.Exec)(nil).NoteEnded(1)
	})
}
