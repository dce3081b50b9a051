package faulttest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// flow is a typical use of graphs. It closes the objects it creates, even if a step fails.
type flow struct {
	name string
	run  func(k *kit, b *driver.Buffer[uint32]) error
}

var flows = []flow{
	{"capture, instantiate, launch", func(k *kit, b *driver.Buffer[uint32]) error {
		l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
		if err != nil {
			return err
		}
		g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
			return errors.Join(sc.Do(l), sc.Do(l))
		})
		if err != nil {
			return err
		}
		return errors.Join(replay(k, g), g.Close())
	}},
	{"capture with a fork", func(k *kit, b *driver.Buffer[uint32]) error {
		l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
		if err != nil {
			return err
		}
		other, err := k.C.NewStream()
		if err != nil {
			return err
		}
		g, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			if err != nil {
				return err
			}
			if err := f.Do(l); err != nil {
				return err
			}
			return sc.Join(f)
		})
		if err != nil {
			return errors.Join(err, other.Close())
		}
		return errors.Join(replay(k, g), g.Close(), other.Close())
	}},
	{"by hand, set, update", func(k *kit, b *driver.Buffer[uint32]) error {
		l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
		if err != nil {
			return err
		}
		g, err := graph.New(k.C)
		if err != nil {
			return err
		}
		return errors.Join(change(k, g, l), g.Close())
	}},
	{"batch", func(k *kit, b *driver.Buffer[uint32]) error {
		l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
		if err != nil {
			return err
		}
		g, err := graph.New(k.C)
		if err != nil {
			return err
		}
		_, err = g.AddBatch(nil, []graph.Item{{Op: l}, {Op: l, After: []int{0}}, {Op: l, After: []int{0}}, {Op: l, After: []int{1, 2}}, {Op: l, After: []int{0, 3}}})
		if err != nil {
			return errors.Join(err, g.Close())
		}
		return errors.Join(replay(k, g), g.Close())
	}},
	{"plan", func(k *kit, b *driver.Buffer[uint32]) error {
		l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
		if err != nil {
			return err
		}
		p, err := graph.NewPlan(k.C, []graph.Item{{Op: l}, {Op: l, After: []int{0}}, {Op: l, After: []int{0}}, {Op: l, After: []int{0, 2}}})
		if err != nil {
			return err
		}
		g, err := graph.New(k.C)
		if err != nil {
			return errors.Join(err, p.Close())
		}
		n, err := g.AddPlan(p)
		if err == nil {
			_, err = g.AddPlan(p, n.At(3))
		}
		if err != nil {
			return errors.Join(err, g.Close(), p.Close())
		}
		return errors.Join(p.Close(), replay(k, g), g.Close())
	}},
	{"clone and child", func(k *kit, b *driver.Buffer[uint32]) error {
		l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
		if err != nil {
			return err
		}
		g, err := graphtest.Recorded(k.S, l, l)
		if err != nil {
			return err
		}
		return errors.Join(nest(k, g), g.Close())
	}},
}

func replay(k *kit, g *graph.Graph) error {
	x, err := g.Instantiate(graph.WithUpload(k.S))
	if err != nil {
		return err
	}
	return errors.Join(x.Run(context.Background(), k.S), x.Close())
}

func change(k *kit, g *graph.Graph, l *driver.Launch) error {
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	if _, err := g.Add(l, n); err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	return errors.Join(changeExec(k, g, x, n, l), x.Close())
}

func changeExec(k *kit, g *graph.Graph, x *graph.Exec, n graph.Node, l *driver.Launch) error {
	if err := x.Set(n, l); err != nil {
		return err
	}
	if err := x.Upload(k.S); err != nil {
		return err
	}
	if _, err := g.Add(l, n); err != nil {
		return err
	}
	if _, err := x.Update(g, graph.WithReinstantiate()); err != nil {
		return err
	}
	return x.Run(context.Background(), k.S)
}

func nest(k *kit, g *graph.Graph) error {
	c, err := g.Clone()
	if err != nil {
		return err
	}
	if _, err := c.AddChild(g); err != nil {
		return errors.Join(err, c.Close())
	}
	return errors.Join(replay(k, c), c.Close())
}

// The test makes each driver call of each flow fail once. Afterwards no object may be open:
// gputest checks the library's objects, and the ledger checks the driver's. The stream must still
// work, and the flow must return the error of the failed call.
func TestEveryCallMayFail(t *testing.T) {
	for _, f := range flows {
		t.Run(f.name, func(t *testing.T) {
			e := emulator.New(emulator.Config{})
			lib := faulty.Wrap(e)
			k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
			b := k.Memory()
			lib.Ignore("cuThreadExchangeStreamCaptureMode") // is part of other calls and cannot fail
			k.OK(f.run(k, b))                               // the first run loads the kernels
			lib.Count()
			k.OK(f.run(k, b))
			calls := lib.Stop()
			inflight.Waiting.Wait()
			books := graphtest.NewLedger(k.Kit, e)
			if len(calls) < 8 {
				t.Fatalf("the flow makes %d calls only", len(calls))
			}
			seen := map[string]bool{}
			for i, c := range calls {
				if seen[c.Symbol] && i%7 != 0 && testing.Short() {
					continue // in short mode, only the first call of each function and every seventh call fail
				}
				seen[c.Symbol] = true
				failOnce(k, lib, books, f, b, i+1)
			}
		})
	}
}

func failOnce(k *kit, lib *faulty.Library, books *graphtest.Ledger, f flow, b *driver.Buffer[uint32], nth int) {
	lib.FailNth(nth, uint32(graphtest.Injected))
	err := f.run(k, b)
	inflight.Waiting.Wait()
	failed := ""
	log := lib.Stop()
	for _, c := range log {
		if c.Failed {
			failed = c.Symbol
		}
	}
	switch {
	case failed == "": // a wait ended early and made fewer calls
		k.OK(err)
	case err == nil:
		k.Errorf("call %d (%s) failed without an error: %+v", nth, failed, log)
	case graphtest.Cause(err) != graphtest.Injected || !saysWhich(err, failed):
		k.Errorf("call %d (%s): the first error is lost: %v", nth, failed, err)
	}
	if more := books.More(func(diff string) bool { return notMade(err, failed, diff) }); more != "" {
		k.Errorf("call %d (%s) failed and left %s, the error was: %v", nth, failed, more, err)
	}
	k.Usable(k.S)
	books.Again() // Usable may have opened objects
}

func TestInstantiateFailureLeavesTheGraph(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.Memory()
	g := k.Graph()
	k.Add(g, k.Launch(k.Plus, b, 1))
	lib.FailCall("cuGraphInstantiateWithParams", 1, uint32(driver.CUDA_ERROR_OUT_OF_MEMORY))
	_, err := g.Instantiate()
	lib.Stop()
	var e *graph.InstantiateError
	if !errors.As(err, &e) || !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
		t.Fatalf("got %v", err)
	}
	k.Run(k.Exec(g))
	k.Expect(b, 2)
}

// The null driver ends a capture without an error and without a graph. No real driver is known to
// do that.
func TestNullGraphIsAnErrorThatSaysSo(t *testing.T) {
	k := newKit(t, gputest.Context(t, graphtest.NullDriver(t)))
	_, err := graph.Capture(k.S, graph.ModeRelaxed, func(*graph.Scope) error { return nil })
	if !errors.Is(err, graph.ErrEmptyCapture) {
		t.Errorf("got %v", err)
	}
}

func init() {
	flows = append(flows,
		flow{"snapshot with a child graph", func(k *kit, b *driver.Buffer[uint32]) error {
			return withNest(k, b, func(g *graph.Graph) error { return graphtest.Second(g.Snapshot()) })
		}},
		flow{"profile", func(k *kit, b *driver.Buffer[uint32]) error {
			return withNest(k, b, func(g *graph.Graph) error {
				return graphtest.Second(g.Profile(background, k.S, graph.WithRounds(1)))
			})
		}},
	)
}

func withNest(k *kit, b *driver.Buffer[uint32], use func(g *graph.Graph) error) error {
	l, err := k.Plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	child, err := graph.New(k.C)
	if err != nil {
		return err
	}
	g, err := graph.New(k.C)
	if err != nil {
		return errors.Join(err, child.Close())
	}
	return errors.Join(nestAndUse(g, child, l, use), g.Close(), child.Close())
}

func nestAndUse(g, child *graph.Graph, l *driver.Launch, use func(g *graph.Graph) error) error {
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	if _, err := child.Add(l); err != nil {
		return err
	}
	if _, err := g.AddChild(child, n); err != nil {
		return err
	}
	return use(g)
}

func init() {
	flows = append(flows,
		flow{"callable", func(k *kit, _ *driver.Buffer[uint32]) error {
			in := affine{ramp(4, 1), 2, 3}
			c, err := callable.New(k.S, k.affine, []affine{in})
			if err != nil {
				return err
			}
			_, err = c.Call(background, in)
			return errors.Join(err, c.Close())
		}},
		flow{"callable with other constants, then another shape", func(k *kit, _ *driver.Buffer[uint32]) error {
			c, err := callable.New(k.S, k.affine, []affine{{ramp(4, 1), 2, 3}}, callable.WithVariants(1))
			if err != nil {
				return err
			}
			_, err = c.Call(background, affine{ramp(4, 1), 4, 3})
			if err == nil {
				_, err = c.Call(background, affine{ramp(5, 1), 4, 3})
			}
			return errors.Join(err, c.Close())
		}},
		flow{"callable, started twice", func(k *kit, _ *driver.Buffer[uint32]) error {
			in := affine{ramp(4, 1), 2, 3}
			c, err := callable.New(k.S, k.affine, []affine{in})
			if err != nil {
				return err
			}
			return errors.Join(startTwice(c, in), c.Close())
		}})
}

// affine is the input of a function that returns x*times + add.
type affine struct {
	x          []uint32
	times, add uint32
}

type affineCallable = callable.Callable[affine, *driver.HostBuffer[uint32]]

func (k *kit) affine(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
	x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
	times := callable.Constant(t, func(in affine) uint32 { return in.times })
	add := callable.Constant(t, func(in affine) uint32 { return in.add })
	t.Launch(k.Times, config, x, uint32(x.Len()), times)
	t.Launch(k.Plus, config, x, uint32(x.Len()), add)
	return callable.Result(t, x), nil
}

func ramp(n int, from uint32) []uint32 {
	x := make([]uint32, n)
	for i := range x {
		x[i] = from + uint32(i)
	}
	return x
}

func startTwice(c *affineCallable, in affine) error {
	if _, err := c.Start(background, in); err != nil {
		return err
	}
	p, err := c.Start(background, in)
	if err != nil {
		return err
	}
	_, err = p.Wait(background)
	return err
}

// saysWhich reports whether an error names the function that failed. Calls that only check or set
// the current context count as part of the next call.
func saysWhich(err error, symbol string) bool {
	name, _, _ := strings.Cut(symbol, "_v")
	return binds(name) || strings.Contains(err.Error(), name)
}

// binds reports whether a call only checks or sets the current context, as part of another call.
func binds(symbol string) bool { return symbol == "cuCtxGetCurrent" || symbol == "cuCtxSetCurrent" }

// notMade reports whether an object could not be released because the driver failed to make the
// context current. One object and its user object may then remain open. There is no other way to
// release them.
func notMade(err error, symbol, more string) bool {
	more = strings.Trim(strings.Replace(more, "1 more user object", "", 1), ", ")
	if strings.Contains(more, "1 more physical memory") { // the addresses of this memory cannot be freed either
		more = strings.Trim(strings.Replace(more, "1 more address range", "", 1), ", ")
	}
	one := more == "" || strings.HasPrefix(more, "1 more ") && !strings.Contains(more, ",")
	return binds(symbol) && one && faulty.GivesBack(err.Error())
}

func TestLedgerFindsLostHandles(t *testing.T) {
	e := emulator.New(emulator.Config{})
	k := newKit(t, gputest.Context(t, gputest.Driver(t, e)))
	l := graphtest.NewLedger(k.Kit, e)
	var raw driver.CUgraph
	k.OK(k.C.Driver().CuGraphCreate(&raw, 0))
	if got := l.Diff(); got != "1 more graph" {
		t.Errorf("a lost graph shows as %q", got)
	}
	k.OK(k.C.Driver().CuGraphDestroy(raw))
	if got := l.Diff(); got != "" {
		t.Errorf("after the graph was destroyed: %q", got)
	}
}
