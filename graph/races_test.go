package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Who waits for the last launch and what is left of a closed Exec both learn
// that it has ended; only one of them lets go of what it used.
func TestExecIsClosedWhileOthersWaitForIt(t *testing.T) {
	each(t, func(k *kit) {
		for range 20 {
			a, b := k.memoryOf(1), k.memoryOf(1)
			g, err := graph.New(k.c)
			k.ok(err)
			n := k.add(g, k.launch(k.plus, a, 1))
			x, err := g.Instantiate()
			k.ok(err)
			release := k.blocked()
			k.ok(x.Launch(k.s))
			k.ok(x.Set(n, k.launch(k.plus, b, 1))) // a is to be let go of
			waits := make(chan error)
			for range 3 {
				go func() { waits <- x.Wait(context.Background()) }()
			}
			time.Sleep(time.Millisecond) // for them to be waiting
			k.ok(x.Close())
			release()
			for range 3 {
				if err := <-waits; err != nil && !errors.Is(err, driver.ErrClosed) {
					k.Error(err)
				}
			}
			graph.WaitParked()
			k.expect(a, 2)
			k.ok(errors.Join(a.Close(), b.Close(), g.Close()))
		}
	})
}

// What is known of a captured graph's kernels stays with the copies of it when
// the graph changes and goes, and its lists are used again by others.
func TestCopiesKnowTheirKernelsAfterTheOriginalIsGone(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		for range 8 {
			g, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
				return sc.Do(k.launch(k.plus, a, 1), k.launch(k.times, a, 2))
			})
			k.ok(err)
			outer := k.graph()
			if _, err := outer.AddChild(g); err != nil {
				t.Fatal(err)
			}
			for n, err := range g.Roots() {
				k.ok(err)
				k.ok(n.Set(k.launch(k.plus, b, 1)))
			}
			k.ok(g.Close())
			k.capture(func(sc *graph.Scope) error { // takes the lists, if they are to be had
				return sc.Do(k.sumOf(b, a, a), k.sumOf(b, a, b))
			})
			k.clean(outer)
		}
	})
}

// A body's graph is the program's to close until it is in its node.
func TestBodyThatWasClosedBeforeItIsInItsNode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		_, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			var first *graph.Graph
			return sc.Switch(c, func(sc *graph.Scope) (err error) {
				first, err = sc.Graph()
				return errors.Join(err, sc.Do(k.launch(k.plus, b, 1)))
			}, func(sc *graph.Scope) error {
				return errors.Join(first.Close(), sc.Do(k.launch(k.plus, b, 2)))
			})
		})
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a body that is closed: %v", err)
		}
		k.usable(k.s)
	})
}

// Bodies are in the order that the program knows them by.
func TestSnapshotHasBodiesInOrder(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		_, bodies, err := g.AddSwitch(k.cond(g, graph.WithDefault(0)), 6)
		k.ok(err)
		b := k.memory()
		want := ""
		for i, body := range bodies {
			n := k.add(body, k.launch(k.plus, b, 1))
			k.ok(n.SetName(fmt.Sprint("in-", i)))
			want += fmt.Sprintf("0.%d.0 in-%d ", i, i)
		}
		got := ""
		for n := range k.snapshot(g).All() {
			if n.Name != "" {
				got += n.ID + " " + n.Name + " "
			}
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestChildOfAnotherDriverIsNotSet(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	other := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	g, child := k.graph(), k.graph()
	n, err := g.AddChild(child)
	k.ok(err)
	k.expectReason("another driver", k.exec(g).SetChild(n, other.graph()), driver.CUDA_ERROR_INVALID_VALUE, "another driver")
}

// The per-thread stream of another thread is another one, but what has been launched
// there is waited for, and what it needs is kept meanwhile.
func TestWaitOfAnotherThreadIsForTheLaunch(t *testing.T) {
	each(t, func(k *kit) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s := k.c.PerThreadStream()
		a, b, into := k.memoryOf(5), k.memory(), k.memory()
		g := k.graph()
		gate := make(chan struct{})
		release := sync.OnceFunc(func() { close(gate) })
		defer release()
		h, err := driver.NewHostFunc(k.c, func() { <-gate })
		k.ok(err)
		n := k.add(g, k.sumOf(into, a, a), k.add(g, h))
		x := k.exec(g)
		k.ok(x.Launch(s))
		k.ok(x.Set(n, k.sumOf(into, b, b))) // only the launch needs a now
		k.ok(n.Set(k.sumOf(into, b, b)))
		k.ok(a.Close())
		waited := make(chan error, 1)
		go func() { waited <- x.Wait(context.Background()) }()
		select {
		case err := <-waited:
			t.Errorf("the wait ended before the launch: %v", err)
			waited <- err
		case <-time.After(50 * time.Millisecond):
		}
		release()
		k.ok(<-waited)
		k.wait(s)
		k.expect(into, 10)
	})
}

// Many goroutines do different things to one graph and one exec: calls take turns,
// and what is refused is refused for a reason that one of them made.
func TestGoroutinesOnOneGraphAndOneExec(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 0))
		x := k.exec(g)
		streams := []*driver.Stream{k.s, k.stream()}
		const rounds = 60
		var all sync.WaitGroup
		run := func(do func(i int, l *driver.Launch) error) {
			l := k.launch(k.plus, b, 0)
			all.Go(func() {
				for i := range rounds {
					if err := do(i, l); err != nil {
						k.Errorf("round %d: %v", i, err)
						return
					}
				}
			})
		}
		run(func(i int, l *driver.Launch) error { return x.Launch(streams[i%2]) })
		run(func(i int, l *driver.Launch) error { return x.Set(n, l) })
		run(func(i int, l *driver.Launch) error { return n.Set(l) })
		run(func(i int, l *driver.Launch) error { return x.Enable(n, i%2 == 0) })
		run(func(i int, l *driver.Launch) error { return second(x.Update(g)) })
		run(func(i int, l *driver.Launch) error { return second(x.Update(g, graph.WithReinstantiate())) })
		run(func(i int, l *driver.Launch) error {
			m, err := g.Add(l, n)
			return errors.Join(err, m.Destroy())
		})
		run(func(i int, l *driver.Launch) error {
			c, err := g.Clone()
			return errors.Join(err, c.Close())
		})
		run(func(i int, l *driver.Launch) error { return second(g.Check()) })
		all.Wait()
		for _, s := range streams {
			k.wait(s)
		}
		if n := x.Replays(); n != rounds {
			k.Errorf("%d replays", n)
		}
		k.expect(b, 1)
	})
}

// A relaxed scope takes operations of several goroutines, while another ends the
// capture: each operation is in the graph, or was refused because it came late.
func TestGoroutinesOnOneScope(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		r, err := graph.Begin(k.s, graph.ModeRelaxed)
		k.ok(err)
		var all sync.WaitGroup
		taken := make([]uint32, 4)
		for i := range taken {
			l := k.launch(k.plus, b, 1)
			all.Go(func() {
				for range 200 {
					switch err := r.Scope().Do(l); {
					case err == nil:
						taken[i]++
					case !errors.Is(err, graph.ErrEnded):
						k.Errorf("a late operation: %v", err)
						return
					}
				}
			})
		}
		g, err := r.End()
		k.ok(err)
		k.closeLater(g)
		all.Wait()
		total := uint32(1)
		for _, n := range taken {
			total += n
		}
		k.run(k.exec(g))
		k.expect(b, total)
	})
}
