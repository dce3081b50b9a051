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
