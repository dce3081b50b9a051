package callable_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// Five shapes are called in random order. Each must run eagerly twice, then be recorded once, and
// then replay. Every result must be correct.
func TestShapesThatRepeatAreRecorded(t *testing.T) {
	each(t, func(k *kit) {
		const shapes, first, calls = 5, 2, 200
		c := made(k, k.affine, nil, callable.WithAdaptive(first))
		random := rand.New(rand.NewPCG(1, 2))
		counts := [shapes]uint64{}
		for i := range uint32(calls) {
			n := random.IntN(shapes)
			counts[n]++
			in := affine{ramp(n+1, i), 3, 1}
			if random.IntN(2) == 0 {
				k.answers(c, in)
				continue
			}
			p, err := c.Start(background, in)
			k.OK(err)
			out, err := p.Wait(background)
			k.OK(err)
			k.affineOf(in, out)
		}
		if slices.Min(counts[:]) <= first {
			t.Fatalf("too few calls of a shape: %v", counts)
		}
		k.stats(c.Stats(), callable.Stats{
			Calls: calls, Eager: shapes * first, Replayed: calls - shapes*first,
			Recorded: shapes, Instantiated: shapes, Variants: shapes,
		})
	})
}

// A shape whose constant changes in every call must return to eager calls. Once the constant stays
// the same, the shape must be recorded again. After the shape was given up twice, that takes twice
// as many calls.
func TestShapeThatAlwaysChangesEndsEager(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, nil, callable.WithAdaptive(1))
		add := uint32(0)
		call := func(n int, change uint32) {
			k.Helper()
			for range n {
				add += change
				k.answers(c, affine{ramp(4, add), 2, add})
			}
		}
		call(40, 1) // 1 eager call, 1 recording, 6 updates, 32 eager calls
		k.stats(c.Stats(), callable.Stats{Calls: 40, Eager: 33, Recorded: 7, Updated: 6, Instantiated: 1, GivenUp: 1, Variants: 1})
		call(16, 0)
		k.stats(c.Stats(), callable.Stats{Calls: 56, Eager: 49, Recorded: 7, Updated: 6, Instantiated: 1, GivenUp: 1, Variants: 1})
		call(3, 0)
		k.stats(c.Stats(), callable.Stats{Calls: 59, Eager: 49, Recorded: 8, Updated: 6, Instantiated: 2, GivenUp: 1, Variants: 1})
		call(7, 1) // 6 updates, 1 eager call
		k.stats(c.Stats(), callable.Stats{Calls: 66, Eager: 50, Recorded: 14, Updated: 12, Instantiated: 2, GivenUp: 2, Variants: 1})
		call(32, 0)
		k.stats(c.Stats(), callable.Stats{Calls: 98, Eager: 82, Recorded: 14, Updated: 12, Instantiated: 2, GivenUp: 2, Variants: 1})
		call(1, 0)
		k.stats(c.Stats(), callable.Stats{Calls: 99, Eager: 82, Recorded: 15, Updated: 12, Instantiated: 3, GivenUp: 2, Variants: 1})
	})
}

// Replays between the updates pay for them, so the shape must not be given up.
func TestShapeThatChangesInEverySecondCallStaysRecorded(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, nil, callable.WithAdaptive(0))
		for i := range uint32(60) {
			k.answers(c, affine{ramp(4, i), 2, i / 2})
		}
		k.stats(c.Stats(), callable.Stats{Calls: 60, Recorded: 30, Updated: 29, Instantiated: 1, Variants: 1})
	})
}

// Without WithAdaptive, a shape stays recorded however often it changes.
func TestOnlyAdaptiveCallablesGiveUp(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, nil)
		for i := range uint32(20) {
			k.answers(c, affine{ramp(4, i), 2, i})
		}
		k.stats(c.Stats(), callable.Stats{Calls: 20, Recorded: 20, Updated: 19, Instantiated: 1, Variants: 1})
	})
}

// rounds returns a function whose number of nodes depends on its input, so its graph cannot be
// updated.
func (k *kit) rounds(t *callable.Trace[uint32]) (*driver.HostBuffer[uint32], error) {
	b := callable.StageScalar(t, func(uint32) uint32 { return 1 })
	for range callable.Constant(t, func(n uint32) uint32 { return n }) {
		t.Launch(k.Plus, config, b, uint32(1), uint32(1))
	}
	return callable.Result(t, b), nil
}

func TestShapeWhoseUpdatesFailEndsEager(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.rounds, nil, callable.WithAdaptive(0))
		for i := range uint32(10) {
			out, err := c.Call(background, i)
			k.OK(err)
			if got := out.Slice()[0]; got != 1+i {
				t.Errorf("%d rounds gave %d", i, got)
			}
		}
		k.stats(c.Stats(), callable.Stats{Calls: 10, Eager: 7, Recorded: 3, Failed: 2, Instantiated: 3, GivenUp: 1, Variants: 1})
	})
}

// A shape whose function fails under capture must return to eager calls after two errors.
func TestShapeThatCannotBeRecordedEndsEager(t *testing.T) {
	each(t, func(k *kit) {
		f := func(t *callable.Trace[uint32]) (*driver.HostBuffer[uint32], error) {
			out, err := k.rounds(t)
			return out, errors.Join(err, t.Stream().Wait(background)) // a captured stream cannot be waited for
		}
		c := made(k, f, nil, callable.WithAdaptive(1))
		failed := 0
		for i := range 10 {
			out, err := c.Call(background, 3)
			switch {
			case err == nil && out.Slice()[0] != 4:
				t.Errorf("call %d returns %d", i, out.Slice()[0])
			case err != nil:
				failed++
			}
		}
		if failed != 2 {
			t.Errorf("%d calls failed, want 2", failed)
		}
		k.stats(c.Stats(), callable.Stats{Calls: 8, Eager: 8, Recorded: 2, Failed: 2, GivenUp: 1, Variants: 1})
	})
}

// steps is the input of a function that uses every method of a Trace.
type steps struct {
	x   []uint32
	add uint32
	n   int
}

// everything adds n × add + 5 to each element. It counts in owned the objects that the Callable
// owns.
func (k *kit) everything(owned *int) callable.Func[steps, *driver.HostBuffer[uint32]] {
	return func(t *callable.Trace[steps]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(in steps) []uint32 { return in.x })
		add := callable.Constant(t, func(in steps) uint32 { return in.add })
		y := callable.Scratch[uint32](t, x.Len())
		five := callable.StageScalar(t, func(in steps) uint32 { return 5 })
		filled, err := driver.Fill[uint32](y, 0)
		if err != nil {
			return nil, err
		}
		mine, err := driver.Alloc[uint32](k.C, 1)
		if err != nil {
			return nil, err
		}
		*owned++
		t.Own(mine, closerFunc(func() error { *owned--; return nil }))
		fives, err := driver.CopyDevice[uint32](mine, five)
		if err != nil {
			return nil, err
		}
		t.Do(filled, fives)
		for range callable.Shape(t, func(in steps) int { return in.n }) {
			t.Launch(k.Plus, config, y, uint32(y.Len()), add)
		}
		t.Launch(k.Sum, config, x, x, y, uint32(x.Len()))
		t.Launch(k.Sum, config, x, x, mine, uint32(1))
		if t.Stream() != k.S {
			return nil, errors.New("another stream")
		}
		plus, err := k.Plus.Prepare(config, x.View(1, x.Len()), uint32(x.Len()-1), uint32(5))
		if err != nil {
			return nil, err
		}
		if err := t.Stream().Do(plus); err != nil { // enqueued directly, as another library would do
			return nil, err
		}
		t.Own(keepReachable{plus})
		return callable.Result(t, x), t.Err()
	}
}

type keepReachable struct{ op driver.Op }

func (keepReachable) Close() error { return nil }

func TestFunctionsWorkInBothModes(t *testing.T) {
	each(t, func(k *kit) {
		owned := 0
		c, err := created(k, k.everything(&owned), nil, callable.WithAdaptive(3))
		k.OK(err)
		for i := range uint32(24) {
			in := steps{ramp(6+int(i%2), 10*i), 1 + i/12, 1 + int(i%3)}
			out, err := c.Call(background, in)
			k.OK(err)
			for j, got := range out.Slice() {
				// Element 0 gets 5 from the owned memory, and the other elements get it from the
				// launch in the stream.
				if want := in.x[j] + uint32(in.n)*in.add + 5; got != want {
					t.Fatalf("call %d: element %d is %d, want %d", i, j, got, want)
				}
			}
			if s := c.Stats(); owned != s.Variants {
				t.Fatalf("call %d: %d things are open for %d variants", i, owned, s.Variants)
			}
		}
		k.stats(c.Stats(), callable.Stats{Calls: 24, Eager: 18, Recorded: 6, Instantiated: 6, Variants: 6})
		k.OK(c.Close())
		if owned != 0 {
			t.Errorf("%d things are left", owned)
		}
	})
}

// A shape whose function calls Scope must be recorded. Work enqueued before the call of Scope must
// run exactly once, and inputs staged after it must be copied before they are used.
func TestShapesThatUseTheScopeAreRecorded(t *testing.T) {
	for name, want := range map[string]callable.Stats{
		"first":  {Calls: 5, Replayed: 5, Recorded: 1, Instantiated: 1, Variants: 1},
		"middle": {Calls: 5, Eager: 1, Replayed: 4, Recorded: 1, Instantiated: 2, Variants: 1},
		"last":   {Calls: 5, Eager: 1, Replayed: 4, Recorded: 1, Instantiated: 2, Variants: 1},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				for _, mode := range modes {
					k.usesScope(name, mode, want)
				}
			})
		})
	}
}

func (k *kit) usesScope(where string, mode graph.Mode, want callable.Stats) {
	k.Helper()
	sum := k.Memory()
	side := k.Stream()
	f := func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
		fork := func(at string) error {
			if at != where {
				return nil
			}
			sc := t.Scope()
			f, err := sc.Fork(side)
			if err != nil {
				return err
			}
			return errors.Join(f.Do(k.Launch(k.Plus, sum, 100)), sc.Join(f))
		}
		first := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
		if err := fork("first"); err != nil {
			return nil, err
		}
		t.Launch(k.Sum, config, sum, sum, first, uint32(first.Len()))
		if err := fork("middle"); err != nil {
			return nil, err
		}
		add := callable.StageScalar(t, func(in affine) uint32 { return in.add })
		t.Launch(k.Sum, config, sum, sum, add, uint32(1))
		out := callable.Result(t, sum.View(0, 1))
		return out, fork("last")
	}
	c := made(k, f, nil, callable.WithMode(mode), callable.WithAdaptive(3))
	total := uint32(1)
	for i := range uint32(5) {
		out, err := c.Call(background, affine{x: []uint32{i, 0}, add: 7})
		k.OK(err)
		total += i + 7
		if where != "last" {
			total += 100
		}
		if got := out.Slice()[0]; got != total {
			k.Fatalf("call %d returns %d, want %d", i, got, total)
		}
		if where == "last" {
			total += 100
		}
	}
	k.stats(c.Stats(), want)
}

// Examples and Prepare must record immediately, because programs use them to record in advance.
func TestPreparedShapesAreRecorded(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(4, 0), 1, 1}}, callable.WithAdaptive(100))
		k.answers(c, affine{ramp(4, 1), 1, 1})
		k.answers(c, affine{ramp(5, 1), 1, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 2, Eager: 1, Recorded: 1, Instantiated: 1, Variants: 2})
		k.OK(c.Prepare(affine{ramp(5, 0), 1, 1}))
		k.answers(c, affine{ramp(5, 2), 1, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 3, Eager: 1, Recorded: 2, Instantiated: 2, Variants: 2})
	})
}

// A failed eager call may have overwritten the output of an earlier call, so that output must no
// longer be available.
func TestFailedEagerCallTakesTheEarlierOutput(t *testing.T) {
	each(t, func(k *kit) {
		sentinel := errors.New("of the function")
		f := func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
			out, err := k.affine(t)
			if callable.Constant(t, func(in affine) bool { return in.times == 13 }) {
				err = sentinel
			}
			return out, err
		}
		c := made(k, f, nil, callable.WithAdaptive(10))
		in := affine{ramp(3, 1), 1, 1}
		p, err := c.Start(background, in)
		k.OK(err)
		if _, err := c.Start(background, affine{in.x, 13, 1}); !errors.Is(err, sentinel) {
			t.Errorf("got %v", err)
		}
		if _, err := p.Wait(background); !errors.Is(err, callable.ErrOutputGone) {
			t.Errorf("the earlier output: %v", err)
		}
		k.answers(c, in)
		k.stats(c.Stats(), callable.Stats{Calls: 2, Eager: 2, Variants: 1})
	})
}

// Memory that an eager call uses must stay allocated until its work has ended, even if the program
// closes the memory and the Callable.
func TestEagerCallsRetainWhatTheyUse(t *testing.T) {
	each(t, func(k *kit) {
		c, err := created(k, func(t *callable.Trace[*driver.Buffer[uint32]]) (int, error) {
			b := callable.Constant(t, func(b *driver.Buffer[uint32]) *driver.Buffer[uint32] { return b })
			t.Launch(k.Plus, config, b, uint32(elems), uint32(1))
			return 0, nil
		}, nil, callable.WithAdaptive(1000))
		k.OK(err)
		memory := make([]*driver.Buffer[uint32], 200)
		for i := range memory {
			memory[i] = k.MemoryOf(1)
		}
		_, err = c.Call(background, memory[0]) // loads the kernel, which may wait for the device
		k.OK(err)
		release := graphtest.Block(k, k.S)
		defer release()
		for _, b := range memory {
			_, err := c.Start(background, b)
			k.OK(err)
			k.OK(b.Close())
			if b.Ref().Lifetime().Gone() {
				t.Fatal("memory in use was freed")
			}
		}
		k.OK(c.Close())
		release()
		k.Wait(k.S)
		k.Eventually("the memory is freed", func() bool {
			return !slices.ContainsFunc(memory, func(b *driver.Buffer[uint32]) bool { return !b.Ref().Lifetime().Gone() })
		})
	})
}

// Even if the program never waits, calls must release the memory of earlier calls.
func TestEagerCallsReleaseWhatEarlierCallsUsed(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, func(t *callable.Trace[*driver.Buffer[uint32]]) (int, error) {
			b := callable.Constant(t, func(b *driver.Buffer[uint32]) *driver.Buffer[uint32] { return b })
			t.Launch(k.Plus, config, b, uint32(elems), uint32(1))
			return 0, nil
		}, nil, callable.WithAdaptive(1000))
		first := k.MemoryOf(1)
		b := first
		for i := range 300 {
			_, err := c.Start(background, b)
			k.OK(err)
			if i == 0 {
				b = k.Memory()
			}
			k.Wait(k.S) // the Callable does not notice that its calls have ended
		}
		k.OK(first.Close())
		if !first.Ref().Lifetime().Gone() {
			t.Error("memory of an early call is kept")
		}
	})
}

// A Callable that becomes unreachable without Close must release the memory of its eager calls.
func TestDroppedCallableReleasesEagerCalls(t *testing.T) {
	each(t, func(k *kit) {
		b := k.MemoryOf(1)
		func() {
			c, err := created(k, func(t *callable.Trace[int]) (int, error) {
				t.Launch(k.Plus, config, b, uint32(elems), uint32(1))
				return 0, nil
			}, nil, callable.WithAdaptive(1000))
			k.OK(err)
			_, err = c.Start(background, 0)
			k.OK(err)
		}()
		k.Wait(k.S)
		k.OK(b.Close())
		gputest.ExpectDropped(t, k.C.Device().Driver(), 2) // the events of the variant
		k.Eventually("the memory is freed", func() bool {
			runtime.GC()
			return b.Ref().Lifetime().Gone()
		})
	})
}

func TestCancelledEagerCallsLeaveTheCallableUsable(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, nil, callable.WithAdaptive(3))
		in := affine{ramp(4, 0), 1, 1}
		k.answers(c, in) // loads the kernels and allocates, which may wait for the device
		release := graphtest.Block(k, k.S)
		defer release()
		ctx, cancel := context.WithCancel(background)
		p, err := c.Start(ctx, in)
		k.OK(err)
		cancel()
		if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled wait: %v", err)
		}
		if _, err := c.Start(ctx, in); !errors.Is(err, context.Canceled) { // the first input was not copied yet
			t.Errorf("cancelled start: %v", err)
		}
		release()
		out, err := p.Wait(background)
		k.OK(err)
		k.affineOf(in, out)
		for i := range uint32(4) {
			k.answers(c, affine{ramp(4, i), 1, 1})
		}
		k.stats(c.Stats(), callable.Stats{Calls: 6, Eager: 3, Recorded: 1, Instantiated: 1, Variants: 1})
	})
}

// The page-locked memory of an input is free once the input has been copied, even if the call's
// work is still running. So the next Start with the same shape waits only for the copy.
func TestEagerStartWaitsOnlyForTheCopy(t *testing.T) {
	each(t, func(k *kit) {
		gate := make(chan struct{})
		block, err := driver.NewHostFunc(k.C, func() { <-gate })
		k.OK(err)
		c := made(k, func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
			x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
			if callable.Constant(t, func(in affine) uint32 { return in.add }) == 1 {
				t.Do(block)
			}
			return callable.Result(t, x), nil
		}, nil, callable.WithAdaptive(100))
		release := sync.OnceFunc(func() { close(gate) })
		defer release()
		ctx, cancel := context.WithTimeout(background, 20*time.Second)
		defer cancel()
		for i := range uint32(2) {
			_, err := c.Start(ctx, affine{ramp(4, i), 1, i})
			k.OK(err)
		}
		last := affine{ramp(4, 9), 1, 0}
		p, err := c.Start(ctx, last) // a Start that waits for the work would block here
		k.OK(err)
		release()
		out, err := p.Wait(background)
		k.OK(err)
		k.affineOf(last, out)
	})
}

func TestNegativeNumberOfEagerCallsIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		if _, err := callable.New(k.S, k.affine, nil, callable.WithAdaptive(-1)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPerThreadStreamIsAlwaysRecorded(t *testing.T) {
	each(t, func(k *kit) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c, err := callable.New(k.C.PerThreadStream(), k.affine, nil, callable.WithAdaptive(5))
		k.OK(err)
		k.CloseLater(c)
		k.answers(c, affine{ramp(4, 3), 2, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 1, Recorded: 1, Instantiated: 1, Variants: 1})
	})
}

// A function may panic while it records the rest of an eager call.
func TestPanicAfterScopeEndsTheRecording(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range modes {
			c := made(k, func(t *callable.Trace[uint32]) (*driver.HostBuffer[uint32], error) {
				out, err := k.rounds(t)
				t.Scope()
				if callable.Constant(t, func(n uint32) bool { return n == 9 }) {
					panic("of the function")
				}
				return out, err
			}, nil, callable.WithAdaptive(2), callable.WithMode(mode))
			k.panics(func() { _, _ = c.Call(background, 9) })
			k.Usable(k.S)
			out, err := c.Call(background, 3)
			k.OK(err)
			if got := out.Slice()[0]; got != 4 {
				t.Errorf("3 rounds gave %d", got)
			}
		}
	})
}
