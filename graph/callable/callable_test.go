package callable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

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

// answers makes a call and compares its output with values computed here.
func (k *kit) answers(c *affineCallable, in affine) {
	k.Helper()
	out, err := c.Call(background, in)
	k.OK(err)
	k.affineOf(in, out)
}

func (k *kit) affineOf(in affine, out *driver.HostBuffer[uint32]) {
	k.Helper()
	if out.Len() != len(in.x) {
		k.Fatalf("%d elements, want %d", out.Len(), len(in.x))
	}
	for i, got := range out.Slice() {
		if want := in.x[i]*in.times + in.add; got != want {
			k.Fatalf("element %d is %d, want %d", i, got, want)
		}
	}
}

func (k *kit) stats(got, want callable.Stats) {
	k.Helper()
	if got != want {
		k.Errorf("did %+v, want %+v", got, want)
	}
}

func TestCallableStagesReplaysAndReturns(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(elems, 0), 1, 1}})
		k.stats(c.Stats(), callable.Stats{Recorded: 1, Instantiated: 1, Variants: 1})
		for i := range uint32(5) {
			k.answers(c, affine{ramp(elems, 100*i), 1, 1})
		}
		k.stats(c.Stats(), callable.Stats{Calls: 5, Recorded: 1, Instantiated: 1, Variants: 1})
		if c.Stream() != k.S {
			t.Error("it works on another stream")
		}
	})
}

func TestCallableWithoutExamplesRecordsAtTheFirstCall(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, nil)
		k.stats(c.Stats(), callable.Stats{})
		k.answers(c, affine{ramp(7, 3), 2, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 1, Recorded: 1, Instantiated: 1, Variants: 1})
	})
}

func TestCallableUpdatesItselfWhenConstantsChange(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(elems, 0), 1, 1}})
		for i := range uint32(4) {
			k.answers(c, affine{ramp(elems, i), 1 + i, 7})
			k.answers(c, affine{ramp(elems, 9), 1 + i, 7})
		}
		k.stats(c.Stats(), callable.Stats{Calls: 8, Recorded: 5, Updated: 4, Instantiated: 1, Variants: 1})
	})
}

// A device buffer that is a constant is used in place, and another buffer updates the graph.
func TestCallableUsesMemoryOfTheCallerInPlace(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, func(t *callable.Trace[*driver.Buffer[uint32]]) (*driver.HostBuffer[uint32], error) {
			b := callable.Constant(t, func(b *driver.Buffer[uint32]) *driver.Buffer[uint32] { return b })
			t.Launch(k.Plus, config, b, uint32(elems), uint32(4))
			return callable.Result(t, b), nil
		}, nil)
		a, b := k.Memory(), k.Memory()
		for i, m := range []*driver.Buffer[uint32]{a, a, b, a} {
			out, err := c.Call(background, m)
			k.OK(err)
			if want := []uint32{5, 9, 5, 13}[i]; out.Slice()[0] != want {
				t.Fatalf("call %d answers %d, want %d", i, out.Slice()[0], want)
			}
		}
		k.stats(c.Stats(), callable.Stats{Calls: 4, Recorded: 3, Updated: 2, Instantiated: 1, Variants: 1})
	})
}

func TestCallableInstantiatesAnewWhereAnUpdateCannotDoIt(t *testing.T) {
	each(t, func(k *kit) {
		f := func(t *callable.Trace[uint32]) (*driver.HostBuffer[uint32], error) {
			b := callable.StageScalar(t, func(uint32) uint32 { return 1 })
			for range callable.Constant(t, func(n uint32) uint32 { return n }) {
				t.Launch(k.Plus, config, b, uint32(1), uint32(1))
			}
			return callable.Result(t, b), nil
		}
		c := made(k, f, nil)
		for _, n := range []uint32{3, 5, 5, 0, 1} {
			out, err := c.Call(background, n)
			k.OK(err)
			if got := out.Slice()[0]; got != 1+n {
				t.Errorf("%d rounds gave %d", n, got)
			}
		}
		k.stats(c.Stats(), callable.Stats{Calls: 5, Recorded: 4, Instantiated: 4, Variants: 1})
	})
}

func TestCallableKeepsTheShapesThatWereCalledLast(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(1, 0), 1, 1}, {ramp(2, 0), 1, 1}}, callable.WithVariants(2))
		k.stats(c.Stats(), callable.Stats{Recorded: 2, Instantiated: 2, Variants: 2})
		k.answers(c, affine{ramp(1, 5), 1, 1}) // 2 was called before 1
		k.answers(c, affine{ramp(3, 5), 1, 1}) // replaces 2
		k.answers(c, affine{ramp(1, 6), 1, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 3, Recorded: 3, Instantiated: 3, Evicted: 1, Variants: 2})
		k.answers(c, affine{ramp(2, 6), 1, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 4, Recorded: 4, Instantiated: 4, Evicted: 2, Variants: 2})
	})
}

func TestShapeThatIsNoLengthMakesVariants(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, func(t *callable.Trace[string]) (int, error) {
			n := callable.Shape(t, func(s string) int { return len(s) })
			callable.Scratch[uint32](t, n)
			return n, nil
		}, []string{"a", "bc"})
		for _, s := range []string{"x", "yz", "z", "abcd"} {
			n, err := c.Call(background, s)
			k.OK(err)
			if n != len(s) {
				t.Errorf("%q went to the variant for %d", s, n)
			}
		}
		k.stats(c.Stats(), callable.Stats{Calls: 4, Recorded: 3, Instantiated: 3, Variants: 3})
	})
}

// An evicted variant may still be in flight.
func TestEvictionAndCloseLeaveReplaysAlone(t *testing.T) {
	each(t, func(k *kit) {
		sum := k.MemoryOf(0)
		k.CloseLater(sum)
		c, err := callable.New(k.S, k.accumulate(sum), nil, callable.WithVariants(1))
		k.OK(err)
		for n := 1; n <= 8; n++ {
			_, err := c.Start(background, ramp(n, 1))
			k.OK(err)
		}
		k.OK(c.Close())
		k.OK(c.Close())
		k.Wait(k.S)
		got := make([]uint32, elems)
		k.OK(sum.CopyTo(got))
		for i := range 8 {
			if want := uint32(i+1) * uint32(8-i); got[i] != want {
				t.Errorf("element %d is %d, want %d", i, got[i], want)
			}
		}
	})
}

// accumulate adds each input to the beginning of sum.
func (k *kit) accumulate(sum *driver.Buffer[uint32]) callable.Func[[]uint32, *driver.HostBuffer[uint32]] {
	return func(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(x []uint32) []uint32 { return x })
		t.Launch(k.Sum, config, sum, sum, x, uint32(x.Len()))
		return callable.Result(t, sum), nil
	}
}

// Inputs are copied before they change, however far the program is ahead of the device.
func TestCallsThatAreNotWaitedForGetTheirOwnInput(t *testing.T) {
	each(t, func(k *kit) {
		sum := k.MemoryOf(0)
		k.CloseLater(sum)
		c := made(k, k.accumulate(sum), nil)
		x := make([]uint32, elems)
		var last callable.Pending[*driver.HostBuffer[uint32]]
		for i := range uint32(100) {
			for j := range x {
				x[j] = i
			}
			var err error
			last, err = c.Start(background, x)
			k.OK(err)
		}
		out, err := last.Wait(background)
		k.OK(err)
		for i, got := range out.Slice() {
			if got != 4950 {
				t.Fatalf("element %d is %d, want 4950", i, got)
			}
		}
	})
}

func TestPendingOutputIsLostForGoodReasons(t *testing.T) {
	each(t, func(k *kit) {
		c, err := callable.New(k.S, k.affine, nil)
		k.OK(err)
		start := func(n int) callable.Pending[*driver.HostBuffer[uint32]] {
			k.Helper()
			p, err := c.Start(background, affine{ramp(n, 1), 1, 1})
			k.OK(err)
			return p
		}
		lost := func(p callable.Pending[*driver.HostBuffer[uint32]], why string) {
			k.Helper()
			if _, err := p.Wait(background); !errors.Is(err, callable.ErrOutputGone) || !strings.Contains(err.Error(), why) {
				k.Errorf("got %v, want %q", err, why)
			}
		}
		first := start(4)
		second, other := start(4), start(5)
		lost(first, "wrote over")
		_, err = second.Wait(background)
		k.OK(err)
		lost(second, "handed out")
		out, err := other.Wait(background)
		k.OK(err)
		k.affineOf(affine{ramp(5, 1), 1, 1}, out)
		third := start(4)
		k.OK(c.Close())
		lost(third, "closed")
		lost(callable.Pending[*driver.HostBuffer[uint32]]{}, "gone")
	})
}

func TestCancelledCallsLeaveTheCallableUsable(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(4, 0), 1, 1}})
		release := graphtest.Block(k, k.S)
		defer release()
		ctx, cancel := context.WithCancel(background)
		cancel()
		if _, err := c.Call(ctx, affine{ramp(4, 0), 1, 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled call: %v", err)
		}
		// The previous call's input has not been read yet.
		if _, err := c.Start(ctx, affine{ramp(4, 0), 1, 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled start: %v", err)
		}
		release()
		k.answers(c, affine{ramp(4, 8), 1, 1})
	})
}

func TestCancelledWaitCanBeRepeated(t *testing.T) {
	each(t, func(k *kit) {
		in := affine{ramp(4, 2), 1, 1}
		c := made(k, k.affine, []affine{in})
		release := graphtest.Block(k, k.S)
		defer release()
		p, err := c.Start(background, in)
		k.OK(err)
		ctx, cancel := context.WithCancel(background)
		cancel()
		if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled wait: %v", err)
		}
		release()
		out, err := p.Wait(background)
		k.OK(err)
		k.affineOf(in, out)
	})
}

func TestCallWithIsForGoroutinesThatShare(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, k.affine, nil)
		var wg sync.WaitGroup
		for g := range uint32(4) {
			wg.Go(func() {
				for i := range uint32(5) {
					in := affine{ramp(8, 10*i), 1 + g%2, g}
					err := c.CallWith(background, in, func(out *driver.HostBuffer[uint32]) error {
						for j, got := range out.Slice() {
							if want := in.x[j]*in.times + in.add; got != want {
								return fmt.Errorf("element %d is %d, want %d", j, got, want)
							}
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		sentinel := errors.New("mine")
		if err := c.CallWith(background, affine{ramp(8, 1), 1, 1}, func(*driver.HostBuffer[uint32]) error { return sentinel }); err != sentinel {
			t.Errorf("the error of use came back as %v", err)
		}
	})
}

func TestFailedRecordingAgainLeavesTheVariant(t *testing.T) {
	each(t, func(k *kit) {
		sentinel := errors.New("refused")
		closed := 0
		f := func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
			t.Own(closerFunc(func() error { closed++; return nil }))
			out, err := k.affine(t)
			if callable.Constant(t, func(in affine) bool { return in.times == 13 }) {
				err = sentinel
			}
			return out, err
		}
		c, err := callable.New(k.S, f, nil)
		k.OK(err)
		in := affine{ramp(6, 1), 2, 2}
		k.answers(c, in)
		if _, err := c.Call(background, affine{in.x, 13, 2}); !errors.Is(err, sentinel) {
			t.Errorf("got %v", err)
		}
		k.answers(c, in)
		k.stats(c.Stats(), callable.Stats{Calls: 2, Recorded: 2, Instantiated: 1, Variants: 1})
		k.answers(c, affine{in.x, 3, 2})
		if closed != 2 {
			t.Errorf("%d of what two runs of the function owned was closed", closed)
		}
		k.OK(c.Close())
		if closed != 3 {
			t.Errorf("%d of three closed in the end", closed)
		}
	})
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

var _ io.Closer = closerFunc(nil)

// These are the things that a function must not do when it runs again, with the reason in each
// error.
func TestFunctionThatAsksForOtherMemoryIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		for name, c := range map[string]struct {
			ask  func(t *callable.Trace[int], n int)
			want string
		}{
			"less":          {func(t *callable.Trace[int], n int) { graphScratch(t, 2-n) }, "less memory"},
			"more":          {func(t *callable.Trace[int], n int) { graphScratch(t, 1+n) }, "more memory"},
			"another size":  {func(t *callable.Trace[int], n int) { callable.Scratch[uint32](t, 1+n) }, "other memory"},
			"another place": {placeBy, "other memory"},
			"another type":  {typeBy, "other memory"},
		} {
			f := func(t *callable.Trace[int]) (int, error) {
				c.ask(t, callable.Constant(t, func(n int) int { return n }))
				return 0, nil
			}
			c2 := made(k, f, []int{0})
			_, err := c2.Call(background, 1)
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Shape") {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := c2.Call(background, 0); err != nil {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		}
	})
}

func graphScratch(t *callable.Trace[int], n int) {
	for range n {
		callable.Scratch[uint32](t, 4)
	}
}

func placeBy(t *callable.Trace[int], n int) {
	if n == 0 {
		callable.Scratch[int](t, 1)
	} else {
		callable.StageScalar(t, func(n int) int { return n })
	}
}

func typeBy(t *callable.Trace[int], n int) {
	if n == 0 {
		callable.Scratch[uint32](t, 1)
	} else {
		callable.Scratch[float32](t, 1)
	}
}

func TestFirstFailureOfATraceIsTheAnswer(t *testing.T) {
	each(t, func(k *kit) {
		sentinel := errors.New("of the function")
		var seen error
		f := func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
			x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
			t.Launch(k.Plus, config, x) // too few arguments
			seen = t.Err()
			if callable.Scratch[uint32](t, 1) != nil || callable.Result(t, x) != nil {
				return nil, errors.New("memory after a failure")
			}
			t.Launch(nil, config)
			callable.Result[uint32](t, nil)
			t.Do(nil)
			return nil, sentinel
		}
		_, err := callable.New(k.S, f, []affine{{x: ramp(3, 0)}})
		if seen == nil || !errors.Is(err, seen) || !errors.Is(err, sentinel) || !strings.Contains(err.Error(), "takes 3 arguments") {
			t.Errorf("got %v, the first was %v", err, seen)
		}
		k.Usable(k.S)
	})
}

func TestResultOfNoMemoryIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		var none *driver.Buffer[uint32]
		for _, src := range []driver.MemoryOf[uint32]{nil, none} {
			_, err := callable.New(k.S, func(t *callable.Trace[int]) (*driver.HostBuffer[uint32], error) {
				return callable.Result(t, src), nil
			}, []int{1})
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Errorf("a result of %T: %v", src, err)
			}
		}
	})
}

func TestTraceEndsWithItsFunction(t *testing.T) {
	each(t, func(k *kit) {
		var escaped *callable.Trace[int]
		made(k, func(t *callable.Trace[int]) (int, error) { escaped = t; return 0, nil }, []int{1})
		if callable.Scratch[uint32](escaped, 3) != nil || !errors.Is(escaped.Err(), graph.ErrEnded) {
			t.Errorf("a trace gave memory after its function, error %v", escaped.Err())
		}
	})
}

func TestPanicOfTheFunctionLeavesNothing(t *testing.T) {
	each(t, func(k *kit) {
		for _, again := range []bool{false, true} {
			var c *affineCallable
			owned := 0
			f := func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
				owned++
				t.Own(closerFunc(func() error { owned--; return nil }))
				out, err := k.affine(t)
				if callable.Constant(t, func(in affine) uint32 { return in.add }) == 99 {
					panic("of the function")
				}
				return out, err
			}
			in := affine{ramp(3, 0), 1, 1}
			var err error
			if again {
				c, err = callable.New(k.S, f, []affine{in})
				k.OK(err)
				k.panics(func() { _, _ = c.Call(background, affine{in.x, 1, 99}) })
				k.answers(c, in)
			} else {
				k.panics(func() { _, _ = callable.New(k.S, f, []affine{{in.x, 1, 99}}) })
			}
			k.OK(c.Close())
			if owned != 0 {
				t.Errorf("again %v: %d things are left", again, owned)
			}
			k.Usable(k.S)
		}
	})
}

func (k *kit) panics(f func()) {
	k.Helper()
	defer func() {
		if r := recover(); r != "of the function" {
			k.Errorf("recovered %v", r)
		}
	}()
	f()
}

func TestGoexitOfTheFunctionLeavesNothing(t *testing.T) {
	each(t, func(k *kit) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = callable.New(k.S, func(t *callable.Trace[affine]) (int, error) {
				callable.StageSlice(t, func(in affine) []uint32 { return in.x })
				runtime.Goexit()
				return 0, nil
			}, []affine{{x: ramp(2, 0)}})
		}()
		<-done
		k.Usable(k.S)
	})
}

func TestCallableRefusesWhatCannotWork(t *testing.T) {
	each(t, func(k *kit) {
		in := affine{ramp(2, 0), 1, 1}
		c, err := callable.New(k.S, k.affine, []affine{in})
		k.OK(err)
		captured, err := graph.Capture(k.S, graph.ModeRelaxed, func(*graph.Scope) error {
			_, err := c.Call(background, in)
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				t.Errorf("a call inside a capture: %v", err)
			}
			return nil
		})
		k.OK(err)
		k.CloseLater(captured)
		k.answers(c, in)
		k.OK(c.Close())
		var none *affineCallable
		k.OK(none.Close())
		if none.Stream() != nil || none.Stats() != (callable.Stats{}) {
			t.Error("a nil callable has something")
		}
		make := func(s *driver.Stream, f callable.Func[affine, *driver.HostBuffer[uint32]], examples []affine, opts ...callable.Option) error {
			_, err := callable.New(s, f, examples, opts...)
			return err
		}
		call := func(c *affineCallable) error { _, err := c.Forward(background, in); return err }
		start := func(c *affineCallable) error { _, err := c.Start(background, in); return err }
		with := func(c *affineCallable) error { return c.CallWith(background, in, nil) }
		for _, c := range []struct {
			what string
			want error
			got  error
		}{
			{"no stream", driver.CUDA_ERROR_INVALID_VALUE, make(nil, k.affine, nil)},
			{"the legacy stream", driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, make(k.C.LegacyStream(), k.affine, nil)},
			{"no function", driver.CUDA_ERROR_INVALID_VALUE, make(k.S, nil, nil)},
			{"no variants", driver.CUDA_ERROR_INVALID_VALUE, make(k.S, k.affine, nil, callable.WithVariants(0))},
			{"more examples than variants", driver.CUDA_ERROR_INVALID_VALUE, make(k.S, k.affine, []affine{in, in}, callable.WithVariants(1))},
			{"a closed one, Call", driver.ErrClosed, call(c)},
			{"a closed one, Start", driver.ErrClosed, start(c)},
			{"a closed one, CallWith", driver.ErrClosed, with(c)},
			{"a closed one, Prepare", driver.ErrClosed, c.Prepare(in)},
			{"a nil one, Call", driver.CUDA_ERROR_INVALID_VALUE, call(none)},
			{"a nil one, Start", driver.CUDA_ERROR_INVALID_VALUE, start(none)},
			{"a nil one, CallWith", driver.CUDA_ERROR_INVALID_VALUE, with(none)},
			{"a nil one, Prepare", driver.CUDA_ERROR_INVALID_VALUE, none.Prepare(in)},
		} {
			if !errors.Is(c.got, c.want) {
				t.Errorf("%s: %v", c.what, c.got)
			}
		}
	})
}

// In a stricter capture mode, a Trace's own calls still work.
func TestCallableRecordsInEveryMode(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range modes {
			c := made(k, k.affine, []affine{{ramp(2, 0), 1, 1}}, callable.WithMode(mode), callable.WithInstantiation(graph.WithNodePriorities()))
			k.answers(c, affine{ramp(2, 5), 3, 3})
		}
	})
}

// Another goroutine's capture forbids unsafe calls in the whole process. Recording must neither
// invalidate that capture nor fail.
func TestCallableRecordsDuringTheGlobalCaptureOfAnother(t *testing.T) {
	each(t, func(k *kit) {
		other := k.Stream()
		begun, end, result := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			g, err := graph.Capture(other, graph.ModeGlobal, func(*graph.Scope) error {
				close(begun)
				<-end
				return nil
			})
			result <- errors.Join(err, g.Close())
		}()
		<-begun
		c := made(k, k.affine, []affine{{ramp(2, 0), 1, 1}})
		k.answers(c, affine{ramp(2, 5), 3, 3})
		k.answers(c, affine{ramp(3, 5), 3, 3})
		close(end)
		k.OK(<-result)
	})
}

func TestCallableForksAndWorksOnOlderDrivers(t *testing.T) {
	for _, version := range []int{11040, 12000, 12030, 13000} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				side := k.Stream()
				f := func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
					x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
					y := callable.Scratch[uint32](t, x.Len())
					add := callable.Constant(t, func(in affine) uint32 { return in.add })
					fill, err := driver.Fill[uint32](y, add)
					if err != nil {
						return nil, err
					}
					fork, err := t.Scope().Fork(side)
					if err != nil {
						return nil, err
					}
					if err := errors.Join(fork.Do(fill), t.Scope().Join(fork)); err != nil {
						return nil, err
					}
					t.Launch(k.Sum, config, x, x, y, uint32(x.Len()))
					return callable.Result(t, x), nil
				}
				c2 := made(k, f, nil)
				k.answers(c2, affine{ramp(5, 1), 1, 4})
				k.answers(c2, affine{ramp(5, 2), 1, 6})
			})
		})
	}
}

func TestCallsThatWaitForAnotherCallAreCancelled(t *testing.T) {
	each(t, func(k *kit) {
		in := affine{ramp(2, 0), 1, 1}
		c, err := callable.New(k.S, k.affine, []affine{in})
		k.OK(err)
		k.CloseLater(c)
		earlier, err := c.Start(background, in)
		k.OK(err)
		reason := errors.New("enough")
		cancelled := func(call func(context.Context) error) error {
			ctx, cancel := context.WithCancelCause(context.Background())
			result := make(chan error)
			go func() { result <- call(ctx) }()
			cancel(reason)
			return <-result
		}
		// CallWith keeps the turn until its function returns.
		k.OK(c.CallWith(background, in, func(*driver.HostBuffer[uint32]) error {
			for name, call := range map[string]func(context.Context) error{
				"Call":     func(ctx context.Context) error { _, err := c.Call(ctx, in); return err },
				"Forward":  func(ctx context.Context) error { _, err := c.Forward(ctx, in); return err },
				"CallWith": func(ctx context.Context) error { return c.CallWith(ctx, in, nil) },
				"Start":    func(ctx context.Context) error { _, err := c.Start(ctx, in); return err },
				"Wait":     func(ctx context.Context) error { _, err := earlier.Wait(ctx); return err },
			} {
				if err := cancelled(call); !errors.Is(err, reason) {
					k.Errorf("%s: %v", name, err)
				}
			}
			return nil
		}))
		calls := c.Stats().Calls
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(reason)
		if _, err := c.Call(ctx, in); !errors.Is(err, reason) || c.Stats().Calls != calls {
			k.Errorf("a call with a context that ended: %v, after %d launches", err, c.Stats().Calls-calls)
		}
		k.answers(c, in)
	})
}
