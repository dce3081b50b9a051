package callable_test

import (
	"context"
	"errors"
	"fmt"
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

// answers makes a call and compares its output with values computed on the host.
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

// stats compares counts. If want has no count of replays, all calls that are not eager are replays.
// If want has no memory, the memory is not compared.
func (k *kit) stats(got, want callable.Stats) {
	k.Helper()
	if k.eager {
		return
	}
	if want.Replayed == 0 {
		want.Replayed = want.Calls - want.Eager
	}
	if want.MemoryBytes == 0 {
		got.MemoryBytes = 0
	}
	if got != want {
		k.Errorf("did %+v, want %+v", got, want)
	}
}

func TestCallableStagesReplaysAndReturns(t *testing.T) {
	eachMode(t, func(k *kit) {
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
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, nil)
		k.stats(c.Stats(), callable.Stats{})
		k.answers(c, affine{ramp(7, 3), 2, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 1, Recorded: 1, Instantiated: 1, Variants: 1})
	})
}

func TestCallableUpdatesItselfWhenConstantsChange(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(elems, 0), 1, 1}})
		for i := range uint32(4) {
			k.answers(c, affine{ramp(elems, i), 1 + i, 7})
			k.answers(c, affine{ramp(elems, 9), 1 + i, 7})
		}
		k.stats(c.Stats(), callable.Stats{Calls: 8, Recorded: 5, Updated: 4, Instantiated: 1, Variants: 1})
	})
}

// A constant device buffer must be used in place. A call with another buffer must update the graph.
func TestCallableUsesMemoryOfTheCallerInPlace(t *testing.T) {
	eachMode(t, func(k *kit) {
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
				t.Fatalf("call %d returns %d, want %d", i, out.Slice()[0], want)
			}
		}
		k.stats(c.Stats(), callable.Stats{Calls: 4, Recorded: 3, Updated: 2, Instantiated: 1, Variants: 1})
	})
}

func TestCallableInstantiatesAnewWhereAnUpdateCannotDoIt(t *testing.T) {
	eachMode(t, func(k *kit) {
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
		k.stats(c.Stats(), callable.Stats{Calls: 5, Recorded: 4, Failed: 3, Instantiated: 4, Variants: 1})
	})
}

func TestCallableKeepsTheShapesThatWereCalledLast(t *testing.T) {
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(1, 0), 1, 1}, {ramp(2, 0), 1, 1}}, callable.WithVariants(2))
		k.stats(c.Stats(), callable.Stats{Recorded: 2, Instantiated: 2, Variants: 2})
		k.answers(c, affine{ramp(1, 5), 1, 1}) // now 2 is the shape that was called least recently
		k.answers(c, affine{ramp(3, 5), 1, 1}) // evicts 2
		k.answers(c, affine{ramp(1, 6), 1, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 3, Recorded: 3, Instantiated: 3, Evicted: 1, Variants: 2})
		k.answers(c, affine{ramp(2, 6), 1, 1})
		k.stats(c.Stats(), callable.Stats{Calls: 4, Recorded: 4, Instantiated: 4, Evicted: 2, Variants: 2})
	})
}

func TestShapeThatIsNoLengthMakesVariants(t *testing.T) {
	eachMode(t, func(k *kit) {
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

// A replay in flight must complete even if its variant is evicted or closed.
func TestEvictionAndCloseLeaveReplaysAlone(t *testing.T) {
	eachMode(t, func(k *kit) {
		sum := k.MemoryOf(0)
		k.CloseLater(sum)
		c, err := created(k, k.accumulate(sum), nil, callable.WithVariants(1))
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

// accumulate returns a function that adds each input to the beginning of sum.
func (k *kit) accumulate(sum *driver.Buffer[uint32]) callable.Func[[]uint32, *driver.HostBuffer[uint32]] {
	return func(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
		x := callable.StageSlice(t, func(x []uint32) []uint32 { return x })
		t.Launch(k.Sum, config, sum, sum, x, uint32(x.Len()))
		return callable.Result(t, sum), nil
	}
}

// Even if the program enqueues calls far ahead of the device, each input must be copied before the
// next call changes it.
func TestCallsThatAreNotWaitedForGetTheirOwnInput(t *testing.T) {
	eachMode(t, func(k *kit) {
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
	eachMode(t, func(k *kit) {
		c, err := created(k, k.affine, nil)
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
		lost(first, "overwrote")
		_, err = second.Wait(background)
		k.OK(err)
		lost(second, "already returned")
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
	eachMode(t, func(k *kit) {
		c := made(k, k.affine, []affine{{ramp(4, 0), 1, 1}})
		release := graphtest.Block(k, k.S)
		defer release()
		ctx, cancel := context.WithCancel(background)
		cancel()
		if _, err := c.Call(ctx, affine{ramp(4, 0), 1, 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled call: %v", err)
		}
		// The previous call's input has not been copied yet.
		if _, err := c.Start(ctx, affine{ramp(4, 0), 1, 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled start: %v", err)
		}
		release()
		k.answers(c, affine{ramp(4, 8), 1, 1})
	})
}

func TestCancelledWaitCanBeRepeated(t *testing.T) {
	eachMode(t, func(k *kit) {
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
	eachMode(t, func(k *kit) {
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

// Traces must also work in the stricter capture modes.
func TestCallableRecordsInEveryMode(t *testing.T) {
	eachMode(t, func(k *kit) {
		for _, mode := range modes {
			c := made(k, k.affine, []affine{{ramp(2, 0), 1, 1}}, callable.WithMode(mode), callable.WithInstantiation(graph.WithNodePriorities()))
			k.answers(c, affine{ramp(2, 5), 3, 3})
		}
	})
}

// Another goroutine's capture forbids unsafe calls in the whole process. Recording must neither
// fail nor invalidate that capture.
func TestCallableRecordsDuringTheGlobalCaptureOfAnother(t *testing.T) {
	eachMode(t, func(k *kit) {
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
	eachMode(t, func(k *kit) {
		in := affine{ramp(2, 0), 1, 1}
		c, err := created(k, k.affine, []affine{in})
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
		// CallWith must block other calls until its function returns.
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
