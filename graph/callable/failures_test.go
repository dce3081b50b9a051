package callable_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
)

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
		c, err := created(k, f, nil)
		k.OK(err)
		in := affine{ramp(6, 1), 2, 2}
		k.answers(c, in)
		if _, err := c.Call(background, affine{in.x, 13, 2}); !errors.Is(err, sentinel) {
			t.Errorf("got %v", err)
		}
		k.answers(c, in)
		k.stats(c.Stats(), callable.Stats{Calls: 2, Recorded: 2, Failed: 1, Instantiated: 1, Variants: 1})
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

// When a function runs again, it must request the same memory in the same order as before. Each
// case breaks this rule in one way and lists the expected reason.
func TestFunctionThatAsksForOtherMemoryIsRefused(t *testing.T) {
	eachMode(t, func(k *kit) {
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

func TestFirstErrorOfATraceIsReturned(t *testing.T) {
	eachMode(t, func(k *kit) {
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
		_, err := created(k, f, []affine{{x: ramp(3, 0)}})
		if seen == nil || !errors.Is(err, seen) || !errors.Is(err, sentinel) || !strings.Contains(err.Error(), "takes 3 arguments") {
			t.Errorf("got %v, the first was %v", err, seen)
		}
		k.Usable(k.S)
	})
}

func TestResultOfNoMemoryIsRefused(t *testing.T) {
	eachMode(t, func(k *kit) {
		var none *driver.Buffer[uint32]
		for _, src := range []driver.MemoryOf[uint32]{nil, none} {
			_, err := created(k, func(t *callable.Trace[int]) (*driver.HostBuffer[uint32], error) {
				return callable.Result(t, src), nil
			}, []int{1})
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Errorf("a result of %T: %v", src, err)
			}
		}
	})
}

// Try enqueues an operation that was created. After the first error, it enqueues nothing and ignores
// further errors.
func TestTryKeepsTheFirstError(t *testing.T) {
	eachMode(t, func(k *kit) {
		first, second := errors.New("first"), errors.New("second")
		untouched := k.MemoryOf(3)
		k.CloseLater(untouched)
		f := func(t *callable.Trace[int]) (*driver.HostBuffer[uint32], error) {
			x := callable.Scratch[uint32](t, elems)
			t.Try(driver.Fill(x, uint32(7)))
			if callable.Shape(t, func(in int) int { return in }) == 1 {
				t.Try(nil, first)
				t.Try(nil, second)
				t.Try(driver.Fill(untouched, uint32(9)))
			}
			return callable.Result(t, x), nil
		}
		c, err := created(k, f, []int{0})
		k.OK(err)
		k.CloseLater(c)
		out, err := c.Call(background, 0)
		k.OK(err)
		if got := out.Slice()[0]; got != 7 {
			k.Errorf("the operation set %d, want 7", got)
		}
		if _, err := c.Call(background, 1); !errors.Is(err, first) || errors.Is(err, second) {
			k.Errorf("the call returned %v, want the first error alone", err)
		}
		k.Wait(k.S)
		k.Expect(untouched, 3)
		var none *callable.Trace[int]
		none.Try(nil, first)
		var zero callable.Trace[int]
		if zero.Try(nil, first); zero.Err() == nil || errors.Is(zero.Err(), first) {
			k.Errorf("a zero Trace has the error %v", zero.Err())
		}
	})
}

func TestTraceEndsWithItsFunction(t *testing.T) {
	eachMode(t, func(k *kit) {
		var escaped *callable.Trace[int]
		made(k, func(t *callable.Trace[int]) (int, error) { escaped = t; return 0, nil }, []int{1})
		if callable.Scratch[uint32](escaped, 3) != nil || !errors.Is(escaped.Err(), graph.ErrEnded) {
			t.Errorf("a trace gave memory after its function, error %v", escaped.Err())
		}
	})
}

func TestPanicOfTheFunctionLeavesNothing(t *testing.T) {
	eachMode(t, func(k *kit) {
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
				c, err = created(k, f, []affine{in})
				k.OK(err)
				k.panics(func() { _, _ = c.Call(background, affine{in.x, 1, 99}) })
				k.answers(c, in)
			} else {
				k.panics(func() { _, _ = created(k, f, []affine{{in.x, 1, 99}}) })
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
	eachMode(t, func(k *kit) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = created(k, func(t *callable.Trace[affine]) (int, error) {
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
	eachMode(t, func(k *kit) {
		in := affine{ramp(2, 0), 1, 1}
		c, err := created(k, k.affine, []affine{in})
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
			{"no memory", driver.CUDA_ERROR_INVALID_VALUE, make(k.S, k.affine, nil, callable.WithMemory(0))},
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

// Work that the function enqueues in Trace.Stream must be part of each call, even if the function
// then calls Scope, so that the rest of the call is recorded.
func TestWorkInTheStreamOfATrace(t *testing.T) {
	each(t, func(k *kit) {
		c := made(k, func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
			x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
			l, err := k.Plus.Prepare(config, x, uint32(x.Len()), uint32(1))
			if err != nil {
				return nil, err
			}
			if err := t.Stream().Do(l); err != nil {
				return nil, err
			}
			t.Scope()
			t.Launch(k.Times, config, x, uint32(x.Len()), uint32(3))
			return callable.Result(t, x), nil
		}, nil, callable.WithAdaptive(2))
		for i := range uint32(4) {
			out, err := c.Call(background, affine{x: ramp(3, i)})
			k.OK(err)
			if got := out.Slice()[2]; got != 3*(i+2+1) {
				t.Errorf("call %d returned %d, want %d", i, got, 3*(i+2+1))
			}
		}
	})
}

func TestDeclarationsWithoutAFunction(t *testing.T) {
	each(t, func(k *kit) {
		for name, declare := range map[string]func(t *callable.Trace[int]){
			"StageSlice":  func(t *callable.Trace[int]) { callable.StageSlice[uint32](t, nil) },
			"StageScalar": func(t *callable.Trace[int]) { callable.StageScalar[uint32](t, nil) },
			"Shape":       func(t *callable.Trace[int]) { callable.Shape[uint32](t, nil) },
			"Constant":    func(t *callable.Trace[int]) { callable.Constant[uint32](t, nil) },
		} {
			_, err := created(k, func(t *callable.Trace[int]) (int, error) { declare(t); return 0, nil }, []int{1})
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), name+" without a function") {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// The options of WithInstantiation must reach Instantiate. The test uses an option that Instantiate
// rejects for arenas.
func TestWithInstantiation(t *testing.T) {
	each(t, func(k *kit) {
		_, err := callable.New(k.S, k.wide, []affine{{ramp(3, 5), 3, 1}}, callable.WithArena(k.arena()), callable.WithInstantiation(graph.WithDeviceLaunch()))
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "WithDeviceLaunch") {
			t.Errorf("got %v", err)
		}
	})
}
