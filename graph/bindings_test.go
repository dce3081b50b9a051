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
	"github.com/purecuda/cuda/internal/gputest"
)

// bound returns an exec of plus behind times on memory, and what the graph has.
func (k *kit) bound(b *driver.Buffer[uint32]) (x *graph.Exec, plus, times graph.Node, ops [2]*driver.Launch) {
	k.Helper()
	g := k.graph()
	ops = [2]*driver.Launch{k.launch(k.plus, b, 0), k.launch(k.times, b, 1)}
	plus = k.add(g, ops[0])
	times = k.add(g, ops[1], plus)
	return k.exec(g), plus, times, ops
}

func bind[T any](k *kit, bs *graph.Bindings, n graph.Node, l *driver.Launch, name string) graph.Param[T] {
	k.Helper()
	p, err := graph.BindName[T](bs, n, l, name)
	k.ok(err)
	return p
}

func TestBoundParametersReachTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, times, ops := k.bound(b)
		bs := x.Bindings()
		add := bind[uint32](k, bs, plus, ops[0], "v")
		factor, err := graph.Bind[uint32](bs, times, ops[1], 2)
		k.ok(err)
		want := uint32(1)
		for i := range uint32(6) {
			k.ok(add.Set(i))
			if i%2 == 0 {
				k.ok(factor.Set(1 + i/2))
			}
			k.ok(bs.Launch(k.s))
			want = (want + i) * (1 + i/2)
			k.expect(b, want)
		}
		if x.Replays() != 6 || graph.BoundLen(bs) != 2 || bs.Exec() != x || x.Bindings() != bs {
			k.Errorf("%d replays of %v", x.Replays(), bs.Exec())
		}
	})
}

// Launches that were sent keep the values they were sent with.
func TestBoundParametersBelongToALaunch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, _, ops := k.bound(b)
		bs := x.Bindings()
		add := bind[uint32](k, bs, plus, ops[0], "v")
		want := uint32(1)
		for i := range uint32(50) {
			k.ok(add.Set(i))
			k.ok(bs.Launch(k.s))
			want += i
		}
		k.expect(b, want)
	})
}

func TestOnlyWhatChangedIsSent(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, times, ops := k.bound(b)
		bs := x.Bindings()
		add, factor := bind[uint32](k, bs, plus, ops[0], "v"), bind[uint32](k, bs, times, ops[1], "v")
		changed := func(want int) {
			k.Helper()
			if n := bs.Changed(); n != want {
				k.Errorf("%d nodes changed, want %d", n, want)
			}
		}
		changed(2) // what was bound has not been sent yet
		k.ok(bs.Launch(k.s))
		changed(0)
		k.ok(add.Set(7))
		k.ok(add.Set(8))
		changed(1)
		k.ok(factor.Set(1)) // what it is
		changed(1)
		k.ok(bs.Send())
		changed(0)
		k.ok(x.Launch(k.s))
		k.expect(b, 9)
	})
}

func TestBoundTwiceIsOneParameter(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, _, ops := k.bound(b)
		bs := x.Bindings()
		byName, byOther := bind[uint32](k, bs, plus, ops[0], "v"), bind[int32](k, bs, plus, ops[0], "v")
		again := bind[uint32](k, bs, plus, ops[0], "v")
		want := uint32(1)
		for i := range uint32(3) {
			for _, set := range []func(uint32) error{byName.Set, again.Set, func(v uint32) error { return byOther.Set(int32(v)) }, byName.Set} {
				k.ok(set(10)) // what one has set is what the others compare with
				k.ok(set(i))
				k.ok(bs.Launch(k.s))
				want += i
			}
			k.ok(byOther.Set(100))
			k.ok(byName.Set(i))
			k.ok(bs.Launch(k.s))
			want += i
		}
		k.expect(b, want)
	})
}

func TestBoundLaunchIsACopy(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, _, ops := k.bound(b)
		bs := x.Bindings()
		add := bind[uint32](k, bs, plus, ops[0], "v")
		k.ok(driver.SetArg(ops[0], 2, uint32(1000)))
		k.ok(add.Set(4))
		k.ok(bs.Launch(k.s))
		k.expect(b, 5)
		k.ok(k.s.Do(ops[0])) // and what is set is not seen in it
		k.expect(b, 1005)
	})
}

func TestBoundMemoryIsKeptAndLetGo(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, _, ops := k.bound(b)
		bs := x.Bindings()
		target := bind[*driver.Buffer[uint32]](k, bs, plus, ops[0], "p")
		add := bind[uint32](k, bs, plus, ops[0], "v")
		other := k.memoryOf(10)
		k.ok(target.Set(other))
		k.ok(add.Set(5))
		k.ok(bs.Launch(k.s))
		k.expect(b, 1)
		k.expect(other, 15)
		k.ok(other.Close()) // the exec has it
		k.ok(add.Set(6))
		k.ok(bs.Launch(k.s))
		k.wait(k.s)
		k.ok(target.Set(b))
		k.ok(bs.Launch(k.s))
		k.expect(b, 7)
		k.ok(x.Wait(background)) // now nothing keeps it
		if err := target.Set(other); err == nil {
			err = bs.Launch(k.s)
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
		b := k.memory()
		x, plus, _, ops := k.bound(b)
		bs := x.Bindings()
		add := bind[uint32](k, bs, plus, ops[0], "v")
		k.ok(add.Set(2))
		k.ok(bs.Launch(k.s))
		k.expect(b, 3)
		g := k.capture(func(sc *graph.Scope) error {
			return sc.Do(k.launch(k.plus, b, 100), k.launch(k.times, b, 2))
		})
		r, err := x.Update(g)
		k.ok(err)
		if !r.Updated() {
			k.Fatalf("%v", r)
		}
		k.ok(bs.Launch(k.s))
		k.expect(b, 10) // times 2 is the update's, plus 2 the binding's
	})
}

func TestBindingsOfAnExecThatWasMadeAnewSaySo(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, _, ops := k.bound(b)
		bs := x.Bindings()
		add := bind[uint32](k, bs, plus, ops[0], "v")
		k.ok(bs.Launch(k.s))
		g := k.capture(func(sc *graph.Scope) error { return sc.Do(ops[0]) })
		how, err := x.Update(g, graph.WithReinstantiate())
		k.ok(err)
		if !how.Reinstantiated {
			k.Fatalf("%v", how)
		}
		k.ok(add.Set(9))
		if err := bs.Launch(k.s); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
		k.run(x) // by itself it works
	})
}

func TestMistakenBindingsAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, times, ops := k.bound(b)
		bs := x.Bindings()
		fill, err := driver.Fill[uint32](b, 3)
		k.ok(err)
		fillNode := k.add(plus.Graph(), fill)
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
		bind[uint32](k, bs, plus, ops[0], "v")
		_, err = graph.Bind[uint32](bs, plus, ops[1], 2)
		refused("another launch", driver.CUDA_ERROR_INVALID_VALUE, err)
		other := k.graph()
		_, err = graph.Bind[uint32](bs, k.add(other, ops[0]), ops[0], 2)
		refused("a node of another graph", driver.CUDA_ERROR_INVALID_VALUE, err)
		refused("the zero Param", driver.CUDA_ERROR_INVALID_VALUE, graph.Param[uint32]{}.Set(1))
		var none *graph.Exec
		_, err = graph.Bind[uint32](none.Bindings(), plus, ops[0], 2)
		refused("no exec", driver.CUDA_ERROR_INVALID_VALUE, err)
		refused("launch of none", driver.CUDA_ERROR_INVALID_VALUE, none.Bindings().Launch(k.s))
		refused("a nil stream", driver.CUDA_ERROR_INVALID_VALUE, bs.Launch(nil))

		factor := bind[uint32](k, bs, times, ops[1], "v")
		k.ok(times.Destroy())
		k.ok(factor.Set(3))
		refused("a node that was destroyed", driver.CUDA_ERROR_INVALID_HANDLE, bs.Launch(k.s))
		k.run(x)
		k.expect(b, 1)
	})
}

func TestClosedExecRefusesItsBindings(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 1)
		n := k.add(g, l)
		x, err := g.Instantiate()
		k.ok(err)
		bs := x.Bindings()
		add := bind[uint32](k, bs, n, l, "v")
		k.ok(add.Set(5))
		k.ok(bs.Launch(k.s))
		k.ok(x.Close())
		k.ok(add.Set(6))
		err = bs.Launch(k.s)
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "executable graph") {
			k.Errorf("got %v", err)
		}
		if err := bs.Send(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("got %v", err)
		}
		k.expect(b, 6)
	})
}

// The calls of the previous launch are used again, but never its stream.
func TestBindingsLaunchOnTheStreamTheyAreGiven(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(), k.stream()
		x, plus, _, ops := k.bound(b)
		bs := x.Bindings()
		add := bind[uint32](k, bs, plus, ops[0], "v")
		k.ok(add.Set(1))
		k.ok(bs.Launch(k.s))
		k.wait(k.s)
		gate := make(chan struct{})
		k.ok(k.s.HostFunc(func() { <-gate })) // a launch on this stream would not run
		k.ok(add.Set(2))
		k.ok(bs.Launch(other))
		k.wait(other)
		h, err := driver.AllocHost[uint32](k.c, elems)
		k.ok(err)
		k.closeLater(h)
		back, err := driver.Download[uint32](h, b)
		k.ok(err)
		k.ok(other.Do(back))
		k.wait(other)
		close(gate)
		k.wait(k.s)
		if got := h.Slice()[0]; got != 4 {
			k.Errorf("after the launch on another stream: %d, want 4", got)
		}
	})
}

// askedFor is a number that a kernel takes, and does something when it is read.
type askedFor struct{ do func() }

func (a askedFor) ArgWord() uint64 { a.do(); return 0 }

// What one goroutine does while another is in a call on the same Bindings is
// refused, and changes nothing.
func TestBindingsOfTwoGoroutinesAtATimeAreRefused(t *testing.T) {
	var during func()
	lib := trace.Wrap(emulator.New(emulator.Config{}), func(c *trace.Call) {
		if c.Function == cu.FnCuGraphLaunch && during != nil {
			during()
		}
	})
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b, other := k.memory(), k.memory()
	g := k.graph()
	l := k.launch(k.plus, b, 1)
	n, err := g.Add(l)
	k.ok(err)
	x, err := g.Instantiate()
	k.ok(err)
	k.closeLater(x)
	bs := x.Bindings()
	v, err := graph.Bind[uint32](bs, n, l, 2)
	k.ok(err)
	p, err := graph.Bind[*driver.Buffer[uint32]](bs, n, l, 0)
	k.ok(err)
	word, err := graph.Bind[askedFor](bs, n, l, 0)
	k.ok(err)
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
	k.ok(v.Set(2))
	k.ok(bs.Launch(k.s))
	during = nil
	k.expect(b, 3)
	if bs.Changed() != 0 {
		k.Errorf("%d nodes changed by what was refused", bs.Changed())
	}
	k.ok(word.Set(askedFor{func() {
		shared("a launch while a parameter is set", elsewhere(func() error { return bs.Launch(k.s) }))
		shared("a number set while a parameter is set", elsewhere(func() error { return v.Set(5) }))
		shared("parameters sent while one is set", elsewhere(bs.Send))
		shared("a node unbound while a parameter is set", elsewhere(func() error { return bs.Unbind(n) }))
		_, err := graph.Bind[uint32](bs, n, l, 1)
		shared("an argument bound while a parameter is set", err)
	}}))
	k.ok(p.Set(b))
	k.ok(v.Set(4))
	k.ok(bs.Launch(k.s))
	k.expect(b, 7)
}
