package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestBoundParametersReachTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, times, ops := k.Bound(b)
		bs := x.Bindings()
		add := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		factor, err := graph.Bind[uint32](bs, times, ops[1], 2)
		k.OK(err)
		want := uint32(1)
		for i := range uint32(6) {
			k.OK(add.Set(i))
			if i%2 == 0 {
				k.OK(factor.Set(1 + i/2))
			}
			k.OK(bs.Launch(k.S))
			want = (want + i) * (1 + i/2)
			k.Expect(b, want)
		}
		if x.Replays() != 6 || graph.BoundLen(bs) != 2 || bs.Exec() != x || x.Bindings() != bs {
			k.Errorf("%d replays of %v", x.Replays(), bs.Exec())
		}
	})
}

// A launch that is already enqueued must keep the values it was launched with.
func TestBoundParametersBelongToALaunch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, _, ops := k.Bound(b)
		bs := x.Bindings()
		add := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		want := uint32(1)
		for i := range uint32(50) {
			k.OK(add.Set(i))
			k.OK(bs.Launch(k.S))
			want += i
		}
		k.Expect(b, want)
	})
}

func TestOnlyWhatChangedIsSent(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, times, ops := k.Bound(b)
		bs := x.Bindings()
		add, factor := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v"), graphtest.Bind[uint32](k.Kit, bs, times, ops[1], "v")
		changed := func(want int) {
			k.Helper()
			if n := bs.Changed(); n != want {
				k.Errorf("%d nodes changed, want %d", n, want)
			}
		}
		changed(2) // newly bound arguments must be sent
		k.OK(bs.Launch(k.S))
		changed(0)
		k.OK(add.Set(7))
		k.OK(add.Set(8))
		changed(1)
		k.OK(factor.Set(1)) // the value is unchanged
		changed(1)
		k.OK(bs.Send())
		changed(0)
		k.OK(x.Launch(k.S))
		k.Expect(b, 9)
	})
}

func TestBoundTwiceIsOneParameter(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, _, ops := k.Bound(b)
		bs := x.Bindings()
		byName, byOther := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v"), graphtest.Bind[int32](k.Kit, bs, plus, ops[0], "v")
		again := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		want := uint32(1)
		for i := range uint32(3) {
			for _, set := range []func(uint32) error{byName.Set, again.Set, func(v uint32) error { return byOther.Set(int32(v)) }, byName.Set} {
				k.OK(set(10)) // the other Params of this argument must compare with 10
				k.OK(set(i))
				k.OK(bs.Launch(k.S))
				want += i
			}
			k.OK(byOther.Set(100))
			k.OK(byName.Set(i))
			k.OK(bs.Launch(k.S))
			want += i
		}
		k.Expect(b, want)
	})
}

func TestBoundLaunchIsACopy(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, _, ops := k.Bound(b)
		bs := x.Bindings()
		add := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		k.OK(driver.SetArg(ops[0], 2, uint32(1000)))
		k.OK(add.Set(4))
		k.OK(bs.Launch(k.S))
		k.Expect(b, 5)
		k.OK(k.S.Do(ops[0])) // setting values must not change the original launch
		k.Expect(b, 1005)
	})
}

func TestBoundMemoryIsRetainedAndReleased(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, _, ops := k.Bound(b)
		bs := x.Bindings()
		target := graphtest.Bind[*driver.Buffer[uint32]](k.Kit, bs, plus, ops[0], "p")
		add := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		other := k.MemoryOf(10)
		k.OK(target.Set(other))
		k.OK(add.Set(5))
		k.OK(bs.Launch(k.S))
		k.Expect(b, 1)
		k.Expect(other, 15)
		k.OK(other.Close()) // the exec must retain the memory
		k.OK(add.Set(6))
		k.OK(bs.Launch(k.S))
		k.Wait(k.S)
		k.OK(target.Set(b))
		k.OK(bs.Launch(k.S))
		k.Expect(b, 7)
		k.OK(x.Wait(background)) // after the wait, nothing retains the memory
		if err := target.Set(other); err == nil {
			err = bs.Launch(k.S)
			if !errors.Is(err, driver.ErrClosed) {
				k.Errorf("closed memory: %v", err)
			}
		} else if !errors.Is(err, driver.ErrClosed) {
			k.Errorf("closed memory: %v", err)
		}
	})
}

func TestBindingsAreSentAgainAfterAnUpdate(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, _, ops := k.Bound(b)
		bs := x.Bindings()
		add := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		k.OK(add.Set(2))
		k.OK(bs.Launch(k.S))
		k.Expect(b, 3)
		g := k.Capture(func(sc *graph.Scope) error {
			return sc.Do(k.Launch(k.Plus, b, 100), k.Launch(k.Times, b, 2))
		})
		r, err := x.Update(g)
		k.OK(err)
		if !r.Updated() {
			k.Fatalf("%v", r)
		}
		k.OK(bs.Launch(k.S))
		k.Expect(b, 10) // "times 2" comes from the update, "plus 2" from the binding
	})
}

func TestBindingsOfAnExecThatWasMadeAnewSaySo(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, _, ops := k.Bound(b)
		bs := x.Bindings()
		add := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		k.OK(bs.Launch(k.S))
		g := k.Capture(func(sc *graph.Scope) error { return sc.Do(ops[0]) })
		how, err := x.Update(g, graph.WithReinstantiate())
		k.OK(err)
		if !how.Reinstantiated {
			k.Fatalf("%v", how)
		}
		k.OK(add.Set(9))
		if err := bs.Launch(k.S); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
		k.Run(x) // the exec must work without the bindings
	})
}

func TestMistakenBindingsAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, times, ops := k.Bound(b)
		bs := x.Bindings()
		fill, err := driver.Fill[uint32](b, 3)
		k.OK(err)
		fillNode := k.Add(plus.Graph(), fill)
		refused := func(what string, want error, err error) {
			k.Helper()
			if !errors.Is(err, want) {
				k.Errorf("%s: %v", what, err)
			}
		}
		_, err = graph.BindName[uint32](bs, plus, ops[0], "q")
		refused("no such parameter", driver.CUDA_ERROR_INVALID_VALUE, err)
		_, err = graph.Bind[uint32](bs, plus, ops[0], 3)
		refused("no such argument", driver.CUDA_ERROR_INVALID_VALUE, err)
		_, err = graph.Bind[uint64](bs, plus, ops[0], 2)
		refused("another size", driver.CUDA_ERROR_INVALID_VALUE, err)
		_, err = graph.Bind[float32](bs, plus, ops[0], 2)
		refused("another kind", driver.CUDA_ERROR_INVALID_VALUE, err)
		_, err = graph.Bind[any](bs, plus, ops[0], 2)
		refused("no type", driver.CUDA_ERROR_INVALID_VALUE, err)
		_, err = graph.Bind[uint32](bs, graph.Node{}, ops[0], 2)
		refused("no node", driver.CUDA_ERROR_INVALID_VALUE, err)
		_, err = graph.Bind[uint32](bs, plus, nil, 2)
		refused("no launch", driver.CUDA_ERROR_INVALID_VALUE, err)
		_, err = graph.Bind[uint32](bs, fillNode, ops[0], 2)
		refused("a node that is no kernel", driver.CUDA_ERROR_INVALID_VALUE, err)
		graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		_, err = graph.Bind[uint32](bs, plus, ops[1], 2)
		refused("another launch", driver.CUDA_ERROR_INVALID_VALUE, err)
		other := k.Graph()
		_, err = graph.Bind[uint32](bs, k.Add(other, ops[0]), ops[0], 2)
		refused("a node of another graph", driver.CUDA_ERROR_INVALID_VALUE, err)
		refused("the zero Param", driver.CUDA_ERROR_INVALID_VALUE, graph.Param[uint32]{}.Set(1))
		var none *graph.Exec
		_, err = graph.Bind[uint32](none.Bindings(), plus, ops[0], 2)
		refused("no exec", driver.CUDA_ERROR_INVALID_VALUE, err)
		refused("launch of none", driver.CUDA_ERROR_INVALID_VALUE, none.Bindings().Launch(k.S))
		refused("a nil stream", driver.CUDA_ERROR_INVALID_VALUE, bs.Launch(nil))

		factor := graphtest.Bind[uint32](k.Kit, bs, times, ops[1], "v")
		k.OK(times.Destroy())
		k.OK(factor.Set(3))
		refused("a node that was destroyed", driver.CUDA_ERROR_INVALID_HANDLE, bs.Launch(k.S))
		k.Run(x)
		k.Expect(b, 1)
	})
}

func TestClosedExecRefusesItsBindings(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		l := k.Launch(k.Plus, b, 1)
		n := k.Add(g, l)
		x, err := g.Instantiate()
		k.OK(err)
		bs := x.Bindings()
		add := graphtest.Bind[uint32](k.Kit, bs, n, l, "v")
		k.OK(add.Set(5))
		k.OK(bs.Launch(k.S))
		k.OK(x.Close())
		k.OK(add.Set(6))
		err = bs.Launch(k.S)
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "executable graph") {
			k.Errorf("got %v", err)
		}
		if err := bs.Send(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("got %v", err)
		}
		k.Expect(b, 6)
	})
}

// A launch must reuse the prepared calls of the previous launch, but run on its own stream.
func TestBindingsLaunchOnTheStreamTheyAreGiven(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Stream()
		x, plus, _, ops := k.Bound(b)
		bs := x.Bindings()
		add := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		k.OK(add.Set(1))
		k.OK(bs.Launch(k.S))
		k.Wait(k.S)
		h, err := driver.AllocHost[uint32](k.C, elems) // AllocHost may wait for the device, so it comes before the gate
		k.OK(err)
		k.CloseLater(h)
		back, err := driver.Download[uint32](h, b)
		k.OK(err)
		gate := make(chan struct{})
		k.OK(k.S.HostFunc(func() { <-gate })) // blocks every later launch on k.S
		k.OK(add.Set(2))
		k.OK(bs.Launch(other))
		k.Wait(other)
		k.OK(other.Do(back))
		k.Wait(other)
		close(gate)
		k.Wait(k.S)
		if got := h.Slice()[0]; got != 4 {
			k.Errorf("after the launch on another stream: %d, want 4", got)
		}
	})
}

// askedFor is a kernel argument that calls the function do when the library reads the argument.
type askedFor struct{ do func() }

func (a askedFor) ArgWord() uint64 { a.do(); return 0 }

// While one goroutine is inside a call on Bindings, calls by another goroutine on the same Bindings
// must be rejected and change nothing.
func TestBindingsOfTwoGoroutinesAtATimeAreRefused(t *testing.T) {
	var during func()
	lib := trace.Wrap(emulator.New(emulator.Config{}), func(c *trace.Call) {
		if c.Function == cu.FnCuGraphLaunch && during != nil {
			during()
		}
	})
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b, other := k.Memory(), k.Memory()
	g := k.Graph()
	l := k.Launch(k.Plus, b, 1)
	n, err := g.Add(l)
	k.OK(err)
	x, err := g.Instantiate()
	k.OK(err)
	k.CloseLater(x)
	bs := x.Bindings()
	v, err := graph.Bind[uint32](bs, n, l, 2)
	k.OK(err)
	p, err := graph.Bind[*driver.Buffer[uint32]](bs, n, l, 0)
	k.OK(err)
	word, err := graph.Bind[askedFor](bs, n, l, 0)
	k.OK(err)
	shared := func(what string, err error) {
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "two goroutines") {
			k.Errorf("%s: %v", what, err)
		}
	}
	elsewhere := func(call func() error) error {
		result := make(chan error)
		go func() { result <- call() }()
		return <-result
	}
	during = func() {
		shared("a number set during a launch", elsewhere(func() error { return v.Set(5) }))
		shared("memory set during a launch", elsewhere(func() error { return p.Set(other) }))
	}
	k.OK(v.Set(2))
	k.OK(bs.Launch(k.S))
	during = nil
	k.Expect(b, 3)
	if bs.Changed() != 0 {
		k.Errorf("%d nodes changed by what was refused", bs.Changed())
	}
	k.OK(word.Set(askedFor{func() {
		shared("a launch while a parameter is set", elsewhere(func() error { return bs.Launch(k.S) }))
		shared("a number set while a parameter is set", elsewhere(func() error { return v.Set(5) }))
		shared("parameters sent while one is set", elsewhere(bs.Send))
		shared("a node unbound while a parameter is set", elsewhere(func() error { return bs.Unbind(n) }))
		_, err := graph.Bind[uint32](bs, n, l, 1)
		shared("an argument bound while a parameter is set", err)
	}}))
	k.OK(p.Set(b))
	k.OK(v.Set(4))
	k.OK(bs.Launch(k.S))
	k.Expect(b, 7)
}
