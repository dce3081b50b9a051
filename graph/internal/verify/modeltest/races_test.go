package modeltest_test

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
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/gputest"
)

// Several callers wait for the last launch while the Exec is closed. The callers and the cleanup
// must all detect the end of the launch. Only one of them may release the Exec's objects.
func TestExecIsClosedWhileOthersWaitForIt(t *testing.T) {
	each(t, func(k *kit) {
		for range 20 {
			a, b := k.MemoryOf(1), k.MemoryOf(1)
			g, err := graph.New(k.C)
			k.OK(err)
			n := k.Add(g, k.Launch(k.Plus, a, 1))
			x, err := g.Instantiate()
			k.OK(err)
			release := k.Blocked()
			k.OK(x.Launch(k.S))
			k.OK(x.Set(n, k.Launch(k.Plus, b, 1))) // a must be released
			waits := make(chan error)
			for range 3 {
				go func() { waits <- x.Wait(context.Background()) }()
			}
			time.Sleep(time.Millisecond) // gives the goroutines time to begin waiting
			k.OK(x.Close())
			release()
			for range 3 {
				if err := <-waits; err != nil && !errors.Is(err, driver.ErrClosed) {
					k.Error(err)
				}
			}
			inflight.Waiting.Wait()
			k.Expect(a, 2)
			k.OK(errors.Join(a.Close(), b.Close(), g.Close()))
		}
	})
}

// Copies of a captured graph must keep the access sets of its kernels. This must hold even if the
// graph is changed and closed and later captures reuse its tables.
func TestCopiesKnowTheirKernelsAfterTheOriginalIsGone(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		for range 8 {
			g, err := graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error {
				return sc.Do(k.Launch(k.Plus, a, 1), k.Launch(k.Times, a, 2))
			})
			k.OK(err)
			outer := k.Graph()
			if _, err := outer.AddChild(g); err != nil {
				t.Fatal(err)
			}
			for n, err := range g.Roots() {
				k.OK(err)
				k.OK(n.Set(k.Launch(k.Plus, b, 1)))
			}
			k.OK(g.Close())
			k.Capture(func(sc *graph.Scope) error { // reuses the graph's tables if they are free
				return sc.Do(k.SumOf(b, a, a), k.SumOf(b, a, b))
			})
			k.Clean(outer)
		}
	})
}

// If a program closes the graph of a recorded body before it becomes part of its node, the capture
// must fail, and the stream must stay usable.
func TestBodyThatWasClosedBeforeItIsInItsNode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		_, err := graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			var first *graph.Graph
			return sc.Switch(c, func(sc *graph.Scope) (err error) {
				first, err = sc.Graph()
				return errors.Join(err, sc.Do(k.Launch(k.Plus, b, 1)))
			}, func(sc *graph.Scope) error {
				return errors.Join(first.Close(), sc.Do(k.Launch(k.Plus, b, 2)))
			})
		})
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a body that is closed: %v", err)
		}
		k.Usable(k.S)
	})
}

func TestSnapshotHasBodiesInOrder(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		_, bodies, err := g.AddSwitch(k.Cond(g, graph.WithDefault(0)), 6)
		k.OK(err)
		b := k.Memory()
		want := ""
		for i, body := range bodies {
			n := k.Add(body, k.Launch(k.Plus, b, 1))
			k.OK(n.SetName(fmt.Sprint("in-", i)))
			want += fmt.Sprintf("0.%d.0 in-%d ", i, i)
		}
		got := ""
		for n := range k.Snapshot(g).All() {
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
	g, child := k.Graph(), k.Graph()
	n, err := g.AddChild(child)
	k.OK(err)
	k.ExpectReason("another driver", k.Exec(g).SetChild(n, other.Graph()), driver.CUDA_ERROR_INVALID_VALUE, "another driver")
}

// The per-thread stream is a different stream on each thread. Another thread must still be able to
// wait for a launch on it, and the launch's objects must be retained until it ends.
func TestWaitOfAnotherThreadIsForTheLaunch(t *testing.T) {
	each(t, func(k *kit) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s := k.C.PerThreadStream()
		a, b, into := k.MemoryOf(5), k.Memory(), k.Memory()
		g := k.Graph()
		gate := make(chan struct{})
		release := sync.OnceFunc(func() { close(gate) })
		defer release()
		h, err := driver.NewHostFunc(k.C, func() { <-gate })
		k.OK(err)
		n := k.Add(g, k.SumOf(into, a, a), k.Add(g, h))
		x := k.Exec(g)
		k.OK(x.Launch(s))
		k.OK(x.Set(n, k.SumOf(into, b, b))) // from now on, only the launch refers to a
		k.OK(n.Set(k.SumOf(into, b, b)))
		k.OK(a.Close())
		waited := make(chan error, 1)
		go func() { waited <- x.Wait(context.Background()) }()
		select {
		case err := <-waited:
			t.Errorf("the wait ended before the launch: %v", err)
			waited <- err
		case <-time.After(50 * time.Millisecond):
		}
		release()
		k.OK(<-waited)
		k.Wait(s)
		k.Expect(into, 10)
	})
}

// Many goroutines make different calls on one graph and one exec. The calls must be serialised. A
// call may fail only because of what another goroutine did.
func TestGoroutinesOnOneGraphAndOneExec(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 0))
		x := k.Exec(g)
		streams := []*driver.Stream{k.S, k.Stream()}
		const rounds = 60
		var all sync.WaitGroup
		run := func(do func(i int, l *driver.Launch) error) {
			l := k.Launch(k.Plus, b, 0)
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
		run(func(i int, l *driver.Launch) error { return graphtest.Second(x.Update(g)) })
		run(func(i int, l *driver.Launch) error { return graphtest.Second(x.Update(g, graph.WithReinstantiate())) })
		run(func(i int, l *driver.Launch) error {
			m, err := g.Add(l, n)
			return errors.Join(err, m.Destroy())
		})
		run(func(i int, l *driver.Launch) error {
			c, err := g.Clone()
			return errors.Join(err, c.Close())
		})
		run(func(i int, l *driver.Launch) error { return graphtest.Second(g.Check()) })
		all.Wait()
		for _, s := range streams {
			k.Wait(s)
		}
		if n := x.Replays(); n != rounds {
			k.Errorf("%d replays", n)
		}
		k.Expect(b, 1)
	})
}

// Several goroutines record operations in a relaxed scope while another ends the capture. Each
// operation must either be in the graph or be rejected because it came too late.
func TestGoroutinesOnOneScope(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		r, err := graph.Begin(k.S, graph.ModeRelaxed)
		k.OK(err)
		var all sync.WaitGroup
		taken := make([]uint32, 4)
		for i := range taken {
			l := k.Launch(k.Plus, b, 1)
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
		k.OK(err)
		k.CloseLater(g)
		all.Wait()
		total := uint32(1)
		for _, n := range taken {
			total += n
		}
		k.Run(k.Exec(g))
		k.Expect(b, total)
	})
}
