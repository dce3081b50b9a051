package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// One launch may be changed and recorded again and again: each node has the
// arguments of its moment, also across several groups.
func TestBurstRecordsWhatOperationsAreAtTheMoment(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		l := k.launch(k.plus, b, 0)
		want := uint32(1)
		g := k.capture(func(sc *graph.Scope) error {
			return sc.Burst(func(u *graph.Burst) error {
				for i := range uint32(200) {
					k.ok(driver.SetArg(l, 2, i))
					want += i
					if err := u.Do(l); err != nil {
						return err
					}
				}
				return nil
			})
		})
		n, err := g.Len()
		k.ok(err)
		if n != 200 {
			k.Fatalf("%d nodes", n)
		}
		k.expect(b, 1) // nothing ran
		k.run(k.exec(g))
		k.expect(b, want)
	})
}

func TestBurstKeepsTheOrderOfAllSortsOfOperations(t *testing.T) {
	each(t, func(k *kit) {
		b, c := k.memory(), k.memory()
		fill, err := driver.Fill[uint32](c, 4)
		k.ok(err)
		from, err := driver.CopyDevice[uint32](b, c)
		k.ok(err)
		g := k.capture(func(sc *graph.Scope) error {
			return sc.Do(k.launch(k.plus, c, 1), fill, k.launch(k.plus, c, 2), k.launch(k.times, c, 5), from, k.launch(k.plus, b, 1))
		})
		k.run(k.exec(g))
		k.expect(b, 31)
		k.expect(c, 30)
	})
}

// Kernels that alternate fill each group with as many kinds as there can be.
func TestBurstOfAlternatingKernels(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		ops := []*driver.Launch{k.launch(k.plus, b, 1), k.launch(k.times, b, 3)}
		want := uint32(1)
		g := k.capture(func(sc *graph.Scope) error {
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
		k.run(k.exec(g))
		k.expect(b, want)
	})
}

func TestBurstOnAForkedScope(t *testing.T) {
	each(t, func(k *kit) {
		b, c := k.memory(), k.memory()
		other := k.stream()
		g := k.capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.ok(err)
			k.ok(f.Do(k.launch(k.plus, c, 1), k.launch(k.times, c, 3)))
			k.ok(sc.Do(k.launch(k.plus, b, 1)))
			k.ok(sc.Join(f))
			return sc.Do(k.sumOf(b, b, c))
		})
		k.run(k.exec(g))
		k.expect(b, 8)
	})
}

func (k *kit) sumOf(d, a, b *driver.Buffer[uint32]) *driver.Launch {
	k.Helper()
	l, err := k.sum.Prepare(config, d, a, b, uint32(elems))
	k.ok(err)
	return l
}

func TestBurstKeepsWhatItRecordsAlive(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memoryOf(10)
		g := k.capture(func(sc *graph.Scope) error {
			return sc.Do(k.launch(k.plus, b, 5), k.sumOf(a, a, b), k.launch(k.times, a, 2))
		})
		k.ok(b.Close())
		x := k.exec(g)
		k.run(x)
		k.expect(a, 32)
	})
}

func TestBurstNamesTheOperationThatIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		b, closed := k.memory(), k.memoryOf(1)
		late := k.launch(k.plus, closed, 1)
		k.ok(closed.Close())
		l := k.launch(k.plus, b, 1)
		_, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Do(l, l, late, l)
		})
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "operation 2") {
			k.Errorf("got %v", err)
		}
		_, err = graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Burst(func(u *graph.Burst) error {
				if err := u.Do(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					k.Errorf("nil operation: %v", err)
				}
				if err := u.Do(l); err == nil {
					k.Error("went on after an error")
				}
				return nil // the burst does not forget it
			})
		})
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "operation 0") {
			k.Errorf("got %v", err)
		}
		k.usable(k.s)
	})
}

func TestBurstIsRefusedAfterItsEnd(t *testing.T) {
	each(t, func(k *kit) {
		l := k.launch(k.plus, k.memory(), 1)
		var late *graph.Burst
		var scope *graph.Scope
		k.capture(func(sc *graph.Scope) error {
			scope = sc
			k.ok(sc.Burst(func(u *graph.Burst) error { late = u; return u.Do(l) }))
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

func TestBurstThatPanicsLeavesTheStreamUsable(t *testing.T) {
	each(t, func(k *kit) {
		l := k.launch(k.plus, k.memory(), 1)
		func() {
			defer func() {
				if recover() != "stop" {
					k.Error("the panic did not go on")
				}
			}()
			_, _ = graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				return sc.Burst(func(u *graph.Burst) error {
					k.ok(u.Do(l))
					panic("stop")
				})
			})
		}()
		k.usable(k.s)
	})
}

// A launch that the driver refuses within a group is the one that is named.
func TestBurstNamesTheLaunchThatFailed(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.memory()
	l := k.launch(k.plus, b, 1)
	lib.FailCall("cuLaunchKernel", 71, uint32(driver.CUDA_ERROR_OUT_OF_MEMORY))
	_, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
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
	k.usable(k.s)
}

// A burst takes its room from those that ended, whatever the number of launches.
func TestBurstsUseTheirRoomAgain(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(nullCapture))))
	hook := driver.SetLeakHook(nil)
	defer driver.SetLeakHook(hook)
	l := k.launch(k.plus, k.memory(), 1)
	k.most(4, "a capture with a burst", func() {
		g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Burst(func(b *graph.Burst) error {
				for range 300 {
					if err := b.Do(l); err != nil {
						return err
					}
				}
				return nil
			})
		})
		k.ok(err)
		k.ok(g.Close())
	})
}

// countedLaunches is a null driver that counts its launches.
type countedLaunches struct {
	nullCapture
	n int
}

func (d *countedLaunches) Lookup(symbol string) (loader.Proc, error) {
	if strings.HasPrefix(symbol, "cuLaunchKernel") {
		return loader.FuncProc(func(loader.Args) uintptr { d.n++; return 0 }), nil
	}
	return d.nullCapture.Lookup(symbol)
}

// The launches of a burst wait for each other: they are sent as a batch.
func TestBurstsSendLaunchesTogether(t *testing.T) {
	d := new(countedLaunches)
	k := newKit(t, gputest.Context(t, gputest.Driver(t, d)))
	l, other := k.launch(k.plus, k.memory(), 1), k.launch(k.times, k.memory(), 1)
	g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		err := sc.Burst(func(b *graph.Burst) error {
			for range 10 {
				k.ok(errors.Join(b.Do(l), b.Do(other)))
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
	k.ok(err)
	k.ok(g.Close())
}

// The tables of a closed graph serve the next one.
func TestGraphsUseTheirTablesAgain(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(nullCapture))))
	hook := driver.SetLeakHook(nil)
	defer driver.SetLeakHook(hook)
	const nodes = 1000
	k.most(2+nodes*allocsPerCall, "a graph of many nodes", func() {
		g, err := graph.New(k.c)
		k.ok(err)
		for range nodes {
			_, err := g.AddEmpty()
			k.ok(err)
		}
		k.ok(g.Close())
	})
}

// ways are those of recording launches one after the other.
var ways = map[string]func(sc *graph.Scope, ops ...driver.Op) error{
	"Do":         func(sc *graph.Scope, ops ...driver.Op) error { return does(ops...)(sc) },
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

// Launches of the same memory are recorded without looking at it again, those of
// other memory are not: the graph keeps all of it.
func TestRecordedLaunchesKeepTheirMemory(t *testing.T) {
	for name, record := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				a, b, c := k.memoryOf(1), k.memoryOf(1), k.memoryOf(1)
				sum := k.memory()
				first, second := k.launch(k.plus, a, 1), k.launch(k.plus, a, 2)
				other, moved := k.launch(k.plus, b, 3), k.launch(k.plus, a, 4)
				k.ok(driver.SetArg(moved, 0, c))
				clone := other.Clone()
				k.ok(driver.SetArg(clone, 2, uint32(10)))
				all := k.op(k.sum.Prepare(config, sum, a, b, uint32(elems)))
				g := k.capture(func(sc *graph.Scope) error { return record(sc, first, second, other, clone, moved, second, all) })
				for _, m := range []*driver.Buffer[uint32]{a, b, c} {
					held := m.Ref().Lifetime().Holders()
					if held == 0 {
						k.Errorf("the graph does not keep %v", m)
					}
				}
				k.ok(b.Close())
				k.ok(c.Close())
				k.run(k.exec(g))
				k.expect(a, 1+1+2+2)
				k.expect(sum, 6+14)
				k.ok(a.Close())
			})
		})
	}
}

// What is recorded is checked by the memory of each launch.
func TestRecordedLaunchesAreCheckedByTheirMemory(t *testing.T) {
	for name, record := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				a, b := k.memory(), k.memory()
				one, two := k.launch(k.plus, a, 1), k.launch(k.plus, a, 2)
				g := k.capture(func(sc *graph.Scope) error {
					return sc.Parallel(
						func(sc *graph.Scope) error { return record(sc, one, two) },
						func(sc *graph.Scope) error { return record(sc, k.launch(k.plus, b, 1), k.launch(k.plus, b, 1)) },
						func(sc *graph.Scope) error { return record(sc, two, one) })
				})
				found, err := g.Check()
				k.ok(err)
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
