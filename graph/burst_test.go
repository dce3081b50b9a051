package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// A program may change and record one launch repeatedly. Each node must have the arguments the
// launch had when it was recorded, even across several groups.
func TestBurstRecordsWhatOperationsAreAtTheMoment(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		l := k.Launch(k.Plus, b, 0)
		want := uint32(1)
		g := k.Capture(func(sc *graph.Scope) error {
			return sc.Burst(func(u *graph.Burst) error {
				for i := range uint32(200) {
					k.OK(driver.SetArg(l, 2, i))
					want += i
					if err := u.Do(l); err != nil {
						return err
					}
				}
				return nil
			})
		})
		n, err := g.Len()
		k.OK(err)
		if n != 200 {
			k.Fatalf("%d nodes", n)
		}
		k.Expect(b, 1) // nothing may have run
		k.Run(k.Exec(g))
		k.Expect(b, want)
	})
}

func TestBurstKeepsTheOrderOfAllSortsOfOperations(t *testing.T) {
	each(t, func(k *kit) {
		b, c := k.Memory(), k.Memory()
		fill, err := driver.Fill[uint32](c, 4)
		k.OK(err)
		from, err := driver.CopyDevice[uint32](b, c)
		k.OK(err)
		g := k.Capture(func(sc *graph.Scope) error {
			return sc.Do(k.Launch(k.Plus, c, 1), fill, k.Launch(k.Plus, c, 2), k.Launch(k.Times, c, 5), from, k.Launch(k.Plus, b, 1))
		})
		k.Run(k.Exec(g))
		k.Expect(b, 31)
		k.Expect(c, 30)
	})
}

func TestBurstOfAlternatingKernels(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		ops := []*driver.Launch{k.Launch(k.Plus, b, 1), k.Launch(k.Times, b, 3)}
		want := uint32(1)
		g := k.Capture(func(sc *graph.Scope) error {
			return sc.Burst(func(u *graph.Burst) error {
				for i := range 301 {
					if err := u.Do(ops[i%2]); err != nil {
						return err
					}
					if want++; i%2 == 1 {
						want = (want - 1) * 3
					}
				}
				return nil
			})
		})
		k.Run(k.Exec(g))
		k.Expect(b, want)
	})
}

func TestBurstOnAForkedScope(t *testing.T) {
	each(t, func(k *kit) {
		b, c := k.Memory(), k.Memory()
		other := k.Stream()
		g := k.Capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.OK(err)
			k.OK(f.Do(k.Launch(k.Plus, c, 1), k.Launch(k.Times, c, 3)))
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			k.OK(sc.Join(f))
			return sc.Do(k.SumOf(b, b, c))
		})
		k.Run(k.Exec(g))
		k.Expect(b, 8)
	})
}

func TestBurstKeepsWhatItRecordsAlive(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.MemoryOf(10)
		g := k.Capture(func(sc *graph.Scope) error {
			return sc.Do(k.Launch(k.Plus, b, 5), k.SumOf(a, a, b), k.Launch(k.Times, a, 2))
		})
		k.OK(b.Close())
		x := k.Exec(g)
		k.Run(x)
		k.Expect(a, 32)
	})
}

func TestBurstNamesTheOperationThatIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		b, closed := k.Memory(), k.MemoryOf(1)
		late := k.Launch(k.Plus, closed, 1)
		k.OK(closed.Close())
		l := k.Launch(k.Plus, b, 1)
		_, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Do(l, l, late, l)
		})
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "operation 2") {
			k.Errorf("got %v", err)
		}
		_, err = graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Burst(func(u *graph.Burst) error {
				if err := u.Do(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					k.Errorf("nil operation: %v", err)
				}
				if err := u.Do(l); err == nil {
					k.Error("went on after an error")
				}
				return nil // ignored: the burst must still return the error
			})
		})
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "operation 0") {
			k.Errorf("got %v", err)
		}
		k.Usable(k.S)
	})
}

func TestBurstIsRefusedAfterItsEnd(t *testing.T) {
	each(t, func(k *kit) {
		l := k.Launch(k.Plus, k.Memory(), 1)
		var late *graph.Burst
		var scope *graph.Scope
		k.Capture(func(sc *graph.Scope) error {
			scope = sc
			k.OK(sc.Burst(func(u *graph.Burst) error { late = u; return u.Do(l) }))
			if err := late.Do(l); !errors.Is(err, graph.ErrEnded) {
				k.Errorf("after its end: %v", err)
			}
			if err := sc.Burst(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("without a function: %v", err)
			}
			return sc.Do()
		})
		if err := scope.Do(l); !errors.Is(err, graph.ErrEnded) {
			k.Errorf("after the capture: %v", err)
		}
	})
}

func TestBurstOnAClosedStreamIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		s, err := k.C.NewStream()
		k.OK(err)
		r, err := graph.Begin(s, graph.ModeThreadLocal)
		k.OK(err)
		k.OK(s.Close())
		err = r.Scope().Burst(func(*graph.Burst) error {
			k.Error("the function was called")
			return nil
		})
		if !errors.Is(err, driver.ErrClosed) {
			k.Errorf("%v, want ErrClosed", err)
		}
		k.OK(r.Abort())
	})
}

func TestBurstThatPanicsLeavesTheStreamUsable(t *testing.T) {
	each(t, func(k *kit) {
		l := k.Launch(k.Plus, k.Memory(), 1)
		func() {
			defer func() {
				if recover() != "stop" {
					k.Error("the panic did not go on")
				}
			}()
			_, _ = graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				return sc.Burst(func(u *graph.Burst) error {
					k.OK(u.Do(l))
					panic("stop")
				})
			})
		}()
		k.Usable(k.S)
	})
}

func TestBurstNamesTheLaunchThatFailed(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.Memory()
	l := k.Launch(k.Plus, b, 1)
	lib.FailCall("cuLaunchKernel", 71, uint32(driver.CUDA_ERROR_OUT_OF_MEMORY))
	_, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return sc.Burst(func(u *graph.Burst) error {
			for range 100 {
				if err := u.Do(l); err != nil {
					return err
				}
			}
			return nil
		})
	})
	lib.Stop()
	if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) || !strings.Contains(err.Error(), "operation 70") || !strings.Contains(err.Error(), "plus") {
		t.Errorf("got %v", err)
	}
	k.Usable(k.S)
}

func TestBurstsReuseTheirBuffers(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture))))
	hook := driver.SetLeakHook(nil)
	defer driver.SetLeakHook(hook)
	l := k.Launch(k.Plus, k.Memory(), 1)
	k.Most(4, "a capture with a burst", func() {
		g, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Burst(func(b *graph.Burst) error {
				for range 300 {
					if err := b.Do(l); err != nil {
						return err
					}
				}
				return nil
			})
		})
		k.OK(err)
		k.OK(g.Close())
	})
}

type countedLaunches struct {
	graphtest.NullCapture
	n int
}

func (d *countedLaunches) Lookup(symbol string) (loader.Proc, error) {
	if strings.HasPrefix(symbol, "cuLaunchKernel") {
		return loader.FuncProc(func(loader.Args) uintptr { d.n++; return 0 }), nil
	}
	return d.NullCapture.Lookup(symbol)
}

func TestBurstsSendLaunchesTogether(t *testing.T) {
	d := new(countedLaunches)
	k := newKit(t, gputest.Context(t, gputest.Driver(t, d)))
	l, other := k.Launch(k.Plus, k.Memory(), 1), k.Launch(k.Times, k.Memory(), 1)
	g, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		err := sc.Burst(func(b *graph.Burst) error {
			for range 10 {
				k.OK(errors.Join(b.Do(l), b.Do(other)))
			}
			if d.n != 0 {
				k.Errorf("%d of 20 launches were sent one by one", d.n)
			}
			return nil
		})
		if d.n != 20 {
			k.Errorf("%d of 20 launches were sent", d.n)
		}
		return err
	})
	k.OK(err)
	k.OK(g.Close())
}

func TestGraphsReuseTheirTables(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture))))
	hook := driver.SetLeakHook(nil)
	defer driver.SetLeakHook(hook)
	const nodes = 1000
	k.Most(2+nodes*graphtest.AllocsPerCall, "a graph of many nodes", func() {
		g, err := graph.New(k.C)
		k.OK(err)
		for range nodes {
			_, err := g.AddEmpty()
			k.OK(err)
		}
		k.OK(g.Close())
	})
}

var ways = map[string]func(sc *graph.Scope, ops ...driver.Op) error{
	"Do":         func(sc *graph.Scope, ops ...driver.Op) error { return graphtest.Does(ops...)(sc) },
	"Do of many": (*graph.Scope).Do,
	"Burst": func(sc *graph.Scope, ops ...driver.Op) error {
		return sc.Burst(func(b *graph.Burst) error {
			for _, op := range ops {
				if err := b.Do(op); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

// The library collects the memory of a launch only if that memory differs from the previous
// launch's. The graph must nevertheless retain all of the memory.
func TestRecordedLaunchesKeepTheirMemory(t *testing.T) {
	for name, record := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				a, b, c := k.MemoryOf(1), k.MemoryOf(1), k.MemoryOf(1)
				sum := k.Memory()
				first, second := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, a, 2)
				other, moved := k.Launch(k.Plus, b, 3), k.Launch(k.Plus, a, 4)
				k.OK(driver.SetArg(moved, 0, c))
				clone := other.Clone()
				k.OK(driver.SetArg(clone, 2, uint32(10)))
				all := k.Op(k.Sum.Prepare(config, sum, a, b, uint32(elems)))
				g := k.Capture(func(sc *graph.Scope) error { return record(sc, first, second, other, clone, moved, second, all) })
				for _, m := range []*driver.Buffer[uint32]{a, b, c} {
					held := m.Ref().Lifetime().Holders()
					if held == 0 {
						k.Errorf("the graph does not keep %v", m)
					}
				}
				k.OK(b.Close())
				k.OK(c.Close())
				k.Run(k.Exec(g))
				k.Expect(a, 1+1+2+2)
				k.Expect(sum, 6+14)
				k.OK(a.Close())
			})
		})
	}
}

func TestRecordedLaunchesAreCheckedByTheirMemory(t *testing.T) {
	for name, record := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				a, b := k.Memory(), k.Memory()
				one, two := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, a, 2)
				g := k.Capture(func(sc *graph.Scope) error {
					return sc.Parallel(
						func(sc *graph.Scope) error { return record(sc, one, two) },
						func(sc *graph.Scope) error { return record(sc, k.Launch(k.Plus, b, 1), k.Launch(k.Plus, b, 1)) },
						func(sc *graph.Scope) error { return record(sc, two, one) })
				})
				found, err := g.Check()
				k.OK(err)
				if found.OK() {
					k.Error("two branches that write the same memory were found in order")
				}
				for _, c := range found.Conflicts {
					if c.Buffer != uint64(a.Ptr()) {
						k.Errorf("a conflict that is none: %+v", c)
					}
				}
			})
		})
	}
}
