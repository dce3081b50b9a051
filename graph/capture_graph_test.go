package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Nodes may be added by hand while a capture is open, and what is recorded
// afterwards may run behind them.
func TestNodesAddedByHandDuringACapture(t *testing.T) {
	each(t, byHandInside)
}

func TestNodesAddedByHandDuringACaptureOnOlderDrivers(t *testing.T) {
	for _, version := range []int{11040, 12020, 12030} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				byHandInside(newKit(t, c))
			})
		})
	}
}

func byHandInside(k *kit) {
	for _, mode := range modes {
		b := k.memory()
		var inside *graph.Graph
		var byHand graph.Node
		g, err := graph.Capture(k.s, mode, func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.plus, b, 2)))
			before, err := sc.Dependencies()
			k.ok(err)
			inside, err = sc.Graph()
			k.ok(err)
			byHand = k.add(inside, k.launch(k.times, b, 5), froms(before)...)
			k.ok(sc.SetDependencies(after(byHand)...))
			deps, err := sc.Dependencies()
			k.ok(err)
			if !slices.Equal(deps, after(byHand)) {
				k.Errorf("%v: dependencies %v after SetDependencies(%v)", mode, deps, byHand)
			}
			return sc.Do(k.launch(k.plus, b, 1))
		})
		k.ok(err)
		k.closeLater(g)
		if g != inside || byHand.Graph() != g {
			k.Errorf("%v: the capture returned %v, inside it was %v", mode, g, inside)
		}
		k.expect(b, 1)
		k.run(k.exec(g))
		k.expect(b, 16) // (1+2)*5+1
		k.ok(byHand.Set(k.launch(k.times, b, 2)))
		k.run(k.exec(g))
		k.expect(b, 37)
	}
}

func TestAddDependenciesJoinsWhatWasAddedByHand(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d := k.memory(), k.memory(), k.memory()
		sum, err := k.sum.Prepare(config, d, a, b, uint32(elems))
		k.ok(err)
		g := k.capture(func(sc *graph.Scope) error {
			inside, err := sc.Graph()
			k.ok(err)
			n := k.add(inside, k.launch(k.plus, a, 9))
			k.ok(sc.Do(k.launch(k.plus, b, 4)))
			k.ok(alsoAfter(sc, n, n))
			deps, err := sc.Dependencies()
			k.ok(err)
			if len(deps) != 2 || !slices.Contains(froms(deps), n) {
				k.Errorf("dependencies %v", deps)
			}
			return sc.Do(sum)
		})
		k.run(k.exec(g))
		k.expect(d, 15)
	})
}

// What the program gives to a node by hand lives as long as the graph, as does
// what was recorded before the graph was asked for.
func TestGraphDuringACaptureKeepsThingsAlive(t *testing.T) {
	each(t, func(k *kit) {
		out := k.memory()
		one, two, three := k.memoryOf(10), k.memoryOf(20), k.memoryOf(30)
		add := func(b *driver.Buffer[uint32]) *driver.Launch {
			l, err := k.sum.Prepare(config, out, out, b, uint32(elems))
			k.ok(err)
			return l
		}
		ops := []*driver.Launch{add(one), add(two), add(three)}
		g := k.capture(func(sc *graph.Scope) error {
			k.ok(sc.Do(ops[0]))
			inside, err := sc.Graph()
			k.ok(err)
			deps, err := sc.Dependencies()
			k.ok(err)
			k.ok(sc.SetDependencies(after(k.add(inside, ops[1], froms(deps)...))...))
			return sc.Do(ops[2])
		})
		k.ok(errors.Join(one.Close(), two.Close(), three.Close()))
		k.closeLater(k.memoryOf(1000))
		k.run(k.exec(g))
		k.expect(out, 61)
	})
}

func TestGraphOfAFailedCaptureIsClosed(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		for name, fail := range map[string]func() error{
			"error":       func() error { return errRecord },
			"invalidated": func() error { _, err := driver.Alloc[byte](k.c, 64); return err },
		} {
			var inside *graph.Graph
			_, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
				k.ok(sc.Do(k.launch(k.plus, b, 1)))
				var err error
				inside, err = sc.Graph()
				k.ok(err)
				k.add(inside, k.launch(k.plus, b, 1))
				return fail()
			})
			if err == nil {
				k.Errorf("%s: no error", name)
			}
			if _, err := inside.AddEmpty(); !errors.Is(err, driver.ErrClosed) {
				k.Errorf("%s: its graph: %v, want ErrClosed", name, err)
			}
			k.ok(inside.Close())
			k.usable(k.s)
		}
	})
}

// The driver may destroy the graph of an invalidated capture before its end: it
// is not touched any more.
func TestGraphOfAnInvalidatedCaptureIsRefusedAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		_, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
			inside, err := sc.Graph()
			k.ok(err)
			_, _ = driver.Alloc[byte](k.c, 64)
			_, add := inside.AddEmpty()
			_, deps := sc.Dependencies()
			set := sc.SetDependencies()
			for what, err := range map[string]error{"AddEmpty": add, "Dependencies": deps, "SetDependencies": set} {
				if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) || !strings.Contains(err.Error(), "cuMemAlloc") {
					k.Errorf("%s: %v, want 901 that names cuMemAlloc", what, err)
				}
			}
			return nil
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
			k.Errorf("got %v", err)
		}
		k.usable(k.s)
	})
}

func TestDependenciesRefuseNodesOfOtherGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		far, err := k.graph().AddEmpty()
		k.ok(err)
		g := k.capture(func(sc *graph.Scope) error {
			for what, err := range map[string]error{
				"another graph's": sc.SetDependencies(after(far)...), "none": alsoAfter(sc, graph.Node{}),
			} {
				if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					k.Errorf("%s: %v", what, err)
				}
			}
			return sc.Do(k.launch(k.plus, b, 1))
		})
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

func TestGraphAndDependenciesAreRefusedAfterTheCapture(t *testing.T) {
	each(t, func(k *kit) {
		var kept *graph.Scope
		k.capture(func(sc *graph.Scope) error {
			kept = sc
			return nil
		})
		for what, err := range map[string]error{
			"Graph": second(kept.Graph()), "Dependencies": second(kept.Dependencies()),
			"SetDependencies": kept.SetDependencies(), "AddDependencies": alsoAfter(kept),
		} {
			if !errors.Is(err, graph.ErrEnded) {
				k.Errorf("%s: %v, want ErrEnded", what, err)
			}
		}
	})
}

// Code that has a stream alone finds the capture that has it, to record and to keep
// things alive.
func TestScopeOfIsTheCaptureThatHasTheStream(t *testing.T) {
	each(t, func(k *kit) {
		other, apart := k.stream(), k.stream()
		b := k.memoryOf(1)
		var late *graph.Scope
		none := func(s *driver.Stream) {
			k.Helper()
			if sc, ok := graph.ScopeOf(s); ok || sc != nil {
				t.Errorf("%v is in a capture", s)
			}
		}
		g := k.capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.ok(err)
			for _, s := range []*driver.Stream{k.s, other} {
				found, ok := graph.ScopeOf(s)
				if !ok || found.Stream() != s {
					t.Fatalf("no scope of %v", s)
				}
				k.ok(found.Keep(b.Ref()))
				late = found
			}
			k.ok(late.Do(k.launch(k.plus, b, 4))) // on the fork, so it has to be joined
			none(apart)
			none(nil)
			return sc.Join(f)
		})
		none(k.s)
		if err := late.Keep(b.Ref()); !errors.Is(err, graph.ErrEnded) {
			t.Errorf("a scope after its capture: %v", err)
		}
		x := k.exec(g)
		k.ok(b.Close())
		if b.Ref().Lifetime().Ended() {
			t.Error("the graph does not keep what it was told to")
		}
		k.run(x)
	})
}
