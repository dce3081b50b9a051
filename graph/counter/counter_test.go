package counter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/counter"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

type kit struct{ *graphtest.Kit }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k}) })
}

func (k *kit) counter(start uint64) *counter.Counter {
	k.Helper()
	c, err := counter.New(k.C, start)
	k.OK(err)
	k.CloseLater(c)
	return c
}

func (k *kit) words(n int) *driver.Buffer[uint64] {
	k.Helper()
	b, err := driver.AllocFrom(k.C, make([]uint64, n))
	k.OK(err)
	k.CloseLater(b)
	return b
}

func (k *kit) read(m driver.MemoryOf[uint64]) []uint64 {
	k.Helper()
	k.Wait(k.S)
	v := make([]uint64, m.All().Len())
	k.OK(m.All().CopyTo(v))
	return v
}

func (k *kit) take(c *counter.Counter, into driver.MemoryOf[uint64], n uint64) driver.Op {
	k.Helper()
	l, err := c.Take(into, n)
	k.OK(err)
	return l
}

func (k *kit) expect(what string, got []uint64, want ...uint64) {
	k.Helper()
	if !slices.Equal(got, want) {
		k.Errorf("%s: got %d, want %d", what, got, want)
	}
}

// In a stream, a capture and a graph built by hand, each Take must take the next numbers.
func TestNumbersAdvanceInEveryKindOfWork(t *testing.T) {
	each(t, func(k *kit) {
		c := k.counter(100)
		at := k.words(2)
		k.OK(k.S.Do(k.take(c, at, 5), k.take(c, at.View(1, 2), 3)))
		k.expect("stream", k.read(at), 100, 105)

		captured := k.Exec(k.Capture(func(sc *graph.Scope) error { return sc.Do(k.take(c, at, 10)) }))
		k.expect("recorded only", k.read(c.Number()), 108)
		for i := range uint64(3) {
			k.Run(captured)
			k.expect("replay", k.read(at.View(0, 1)), 108+10*i)
		}

		g := k.Graph()
		first, err := g.Add(k.take(c, at, 1))
		k.OK(err)
		_, err = g.Add(k.take(c, at.View(1, 2), 1), first)
		k.OK(err)
		x := k.Exec(g)
		k.Run(x)
		k.Run(x)
		k.expect("built graph", k.read(at), 140, 141)
		k.expect("the number", k.read(c.Number()), 142)
	})
}

func TestNumberIsSetFromTheHost(t *testing.T) {
	each(t, func(k *kit) {
		c := k.counter(1)
		at := k.words(1)
		x := k.Exec(k.Capture(func(sc *graph.Scope) error { return sc.Do(k.take(c, at, 2)) }))
		set, err := c.Set(1<<64 - 3)
		k.OK(err)
		k.OK(x.Launch(k.S))
		k.expect("before", k.read(at), 1)
		k.OK(k.S.Do(set))
		for _, want := range []uint64{1<<64 - 3, 1<<64 - 1, 1, 3} { // these numbers wrap around
			k.Run(x)
			k.expect("after", k.read(at), want)
		}
		k.OK(driver.SetArg(set, 1, uint64(7)))
		k.OK(k.S.Do(set))
		k.Run(x)
		k.expect("set again", k.read(at), 7)
	})
}

func TestGraphsThatRunAtTheSameTimeTakeDifferentNumbers(t *testing.T) {
	each(t, func(k *kit) {
		const streams, takes, rounds = 4, 8, 16
		c := k.counter(0)
		at := k.words(streams * takes * rounds)
		var running []*driver.Stream
		for i := range streams {
			s := k.Stream()
			running = append(running, s)
			var ops []driver.Op
			for j := range takes * rounds {
				n := i*takes*rounds + j
				ops = append(ops, k.take(c, at.View(n, n+1), 3))
			}
			g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Do(ops...) })
			k.OK(err)
			k.CloseLater(g)
			k.OK(k.Exec(g).Launch(s))
		}
		for _, s := range running {
			k.Wait(s)
		}
		got := k.read(at)
		slices.Sort(got)
		for i, v := range got {
			if v != uint64(3*i) {
				t.Fatalf("number %d is %d, want %d", i, v, 3*i)
			}
		}
	})
}

func TestGraphRetainsTheCounter(t *testing.T) {
	each(t, func(k *kit) {
		c, err := counter.New(k.C, 5)
		k.OK(err)
		at := k.words(1)
		x := k.Exec(k.Capture(func(sc *graph.Scope) error { return sc.Do(k.take(c, at, 1)) }))
		k.OK(c.Close())
		k.OK(c.Close())
		k.Run(x)
		k.Run(x)
		k.expect("after Close", k.read(at), 6)
		if _, err := c.Take(at, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Take after Close: %v", err)
		}
	})
}

func TestCounterRefusesWhatCannotWork(t *testing.T) {
	each(t, func(k *kit) {
		c := k.counter(0)
		none, nothing := (*counter.Counter)(nil), (*driver.Buffer[uint64])(nil)
		empty := k.words(1).View(0, 0)
		take := func(c *counter.Counter, m driver.MemoryOf[uint64]) error { _, err := c.Take(m, 1); return err }
		set := func(c *counter.Counter) error { _, err := c.Set(1); return err }
		for what, err := range map[string]error{
			"nil counter, Take": take(none, k.words(1)), "zero counter, Take": take(new(counter.Counter), k.words(1)),
			"nil counter, Set": set(none), "zero counter, Set": set(new(counter.Counter)),
			"no memory": take(c, nil), "nil memory": take(c, nothing), "no element": take(c, empty),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Errorf("%s: %v", what, err)
			}
		}
		k.OK(none.Close())
		if none.Number().Len() != 0 || none.String() != "no counter" {
			t.Error("a nil counter has something")
		}
	})
}

// The test makes each driver call for creating and using a Counter fail once. The error must name
// the call, and nothing may stay open.
func TestEveryCallMayFail(t *testing.T) {
	e := emulator.New(emulator.Config{})
	lib := faulty.Wrap(e)
	k := &kit{graphtest.NewKit(t, gputest.Context(t, gputest.Driver(t, lib)))}
	lib.Ignore("cuThreadExchangeStreamCaptureMode", "cuCtxGetCurrent", "cuCtxSetCurrent")
	at := k.words(1)
	flow := func() error {
		c, err := counter.New(k.C, 3)
		if err != nil {
			return err
		}
		take, err := c.Take(at, 2)
		set, err2 := c.Set(9)
		if err = errors.Join(err, err2); err == nil {
			err = k.S.Do(set, take)
		}
		return errors.Join(err, k.S.Wait(context.Background()), c.Close())
	}
	lib.Count() // the first run also loads the kernels
	k.OK(flow())
	calls := lib.Stop()
	books := graphtest.NewLedger(k.Kit, e)
	for i := range calls {
		lib.FailNth(i+1, uint32(graphtest.Injected))
		err := flow()
		lib.Stop()
		if err != nil && graphtest.Cause(err) != graphtest.Injected {
			t.Errorf("call %d: %v", i+1, err)
		}
		if more := books.More(func(string) bool { return false }); more != "" {
			t.Errorf("call %d failed and left %s, the error was: %v", i+1, more, err)
		}
		k.OK(flow())
		k.expect("afterwards", k.read(at), 9)
	}
}

// The first Take of a context loads the kernels. The test makes each driver call of this load fail
// once, outside and inside a capture. Take must return the error, and the next Take must load the
// kernels.
func TestFirstLoadOfTheKernelsMayFail(t *testing.T) {
	for name, first := range map[string]func(k *kit, c *counter.Counter, at *driver.Buffer[uint64]) error{
		"outside a capture": func(k *kit, c *counter.Counter, at *driver.Buffer[uint64]) error {
			_, err := c.Take(at, 2)
			return err
		},
		"in a capture": func(k *kit, c *counter.Counter, at *driver.Buffer[uint64]) error {
			var taken error
			g, err := graph.Capture(k.S, graph.ModeGlobal, func(*graph.Scope) error {
				_, taken = c.Take(at, 2)
				return nil
			})
			return errors.Join(taken, err, g.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			failed := map[string]bool{}
			for nth := 1; ; nth++ {
				lib := faulty.Wrap(emulator.New(emulator.Config{}))
				k := &kit{graphtest.NewKit(t, gputest.Context(t, gputest.Driver(t, lib)))} // a context in which the kernels of counters are not loaded yet
				lib.Ignore("cuThreadExchangeStreamCaptureMode", "cuCtxGetCurrent", "cuCtxSetCurrent")
				c, at := k.counter(3), k.words(1)
				lib.FailNth(nth, uint32(graphtest.Injected))
				err := first(k, c, at)
				calls := lib.Stop()
				if nth > len(calls) {
					k.OK(err)
					break
				}
				failed[calls[nth-1].Symbol] = true
				if graphtest.Cause(err) != graphtest.Injected {
					t.Errorf("call %d (%s) failed, and the error was: %v", nth, calls[nth-1].Symbol, err)
				}
				k.OK(k.S.Do(k.take(c, at, 2)))
				k.expect("afterwards", k.read(at), 3)
				k.expect("afterwards, the number", k.read(c.Number()), 5)
			}
			if !failed["cuModuleLoadDataEx"] || !failed["cuModuleGetFunction"] {
				t.Errorf("only these calls failed: %v", failed)
			}
		})
	}
}

func ExampleCounter() {
	c, s, _, _, _ := graphtest.Open()
	draws := must(counter.New(c, 1000))
	defer draws.Close()
	at := must(driver.Alloc[uint64](c, 1))
	take := must(draws.Take(at, 64)) // a later kernel can use the numbers from at[0] to at[0] + 63

	g := must(graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Do(take) }))
	exec := must(g.Instantiate())
	for range 3 {
		if err := exec.Run(context.Background(), s); err != nil {
			panic(err)
		}
		first := make([]uint64, 1)
		if err := at.CopyTo(first); err != nil {
			panic(err)
		}
		fmt.Println(first[0])
	}
	// Output:
	// 1000
	// 1064
	// 1128
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
