package callable_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// perElement is the number of elements of temporary memory that wide uses for each input element.
const perElement = 1 << 20

// wide is like affine, but uses temporary memory. It copies the input to both ends of that memory.
func (k *kit) wide(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
	x := callable.StageSlice(t, func(in affine) []uint32 { return in.x })
	times := callable.Constant(t, func(in affine) uint32 { return in.times })
	add := callable.Constant(t, func(in affine) uint32 { return in.add })
	n := x.Len()
	y := callable.Scratch[uint32](t, n*perElement)
	if t.Err() != nil {
		return nil, nil
	}
	end := y.View(y.Len()-n, y.Len())
	down, err := driver.CopyDevice[uint32](end, x)
	if err != nil {
		return nil, err
	}
	back, err := driver.CopyDevice[uint32](y.View(0, n), end)
	if err != nil {
		return nil, err
	}
	t.Do(down)
	t.Launch(k.Times, config, end, uint32(n), times)
	t.Do(back)
	t.Launch(k.Plus, config, y, uint32(n), add)
	return callable.Result(t, y.View(0, n)), nil
}

func (k *kit) arena(opts ...arena.Option) *arena.Arena {
	k.Helper()
	a, err := arena.New(k.C, opts...)
	k.OK(err)
	k.CloseLater(a)
	return a
}

// Five shapes must need at most 1.15 times the memory of the largest, whether they are eager,
// recorded, updated, or recorded by two Callables at the same time.
func TestShapesInAnArenaNeedTheMemoryOfTheLargest(t *testing.T) {
	eachMode(t, func(k *kit) {
		a := k.arena()
		in := callable.WithArena(a)
		c := made(k, k.wide, nil, in)
		other, err := callable.New(k.Stream(), k.wide, nil, in, callable.WithAdaptive(1))
		k.OK(err)
		k.CloseLater(other)
		for i := range uint32(4) {
			for _, n := range []int{2, 5, 1, 4, 3} {
				k.answers(c, affine{ramp(n, i), 3, i / 2})
				k.answers(other, affine{ramp(n, i), 2, i / 2})
			}
		}
		const largest = 5*perElement*4 + 5*4
		if r := a.Report(); float64(r.Bytes) > 1.15*largest || len(r.Plans) != 10 || most(r) < largest {
			k.Errorf("the largest shape needs %d bytes:\n%v", largest, r)
		}
		if s := c.Stats(); s.Variants != 5 {
			k.Errorf("did %+v", s)
		}
	})
}

func most(r arena.Report) (bytes uint64) {
	for _, p := range r.Plans {
		bytes = max(bytes, p.Bytes)
	}
	return bytes
}

// The plans must be named after the function and disappear with their variants. The memory of
// Result and Take must not be in the arena.
func TestPlansOfVariants(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		draws := k.counter(7)
		c, err := callable.New(k.S, func(t *callable.Trace[affine]) (*driver.HostBuffer[uint32], error) {
			callable.Take(t, draws, 1)
			return k.wide(t)
		}, nil, callable.WithArena(a), callable.WithVariants(2), callable.WithAdaptive(1))
		k.OK(err)
		for i := range uint32(100) {
			k.answers(c, affine{ramp(1+int(i/2)%4, i), 3, 1})
		}
		r := a.Report()
		if len(r.Plans) != 2 || !strings.Contains(r.Plans[0].Name, "TestPlansOfVariants") || !strings.HasSuffix(r.Plans[1].Name, "shape 50") {
			k.Errorf("the arena has these plans:\n%v", r)
		}
		if want := uint64(2*perElement*4 + 2*4); r.Plans[1].Bytes != want || r.Plans[1].Graphs != 1 || len(r.Plans[1].Open) != 0 {
			k.Errorf("the plan of 2 elements has %+v, want %d bytes and a graph", r.Plans[1], want)
		}
		if n := c.Ties()(); n > 4 { // two per variant: one for the memory and one for the graph
			k.Errorf("two variants have %d ties", n)
		}
		k.OK(c.Close())
		if r := a.Report(); len(r.Plans) != 0 || c.Ties()() != 0 {
			k.Errorf("after Close the arena has %d ties and these plans:\n%v", c.Ties()(), r)
		}
	})
}

// Callables of one arena on two streams must not disturb each other, although each call copies its
// input to memory that the other Callable also uses. One of them is eager in half of its calls. The
// emulator must find no race. Without the order that the arena enforces, the emulator must find
// races.
func TestCallablesInAnArenaTakeTurns(t *testing.T) {
	e := emulator.New(emulator.Config{Check: emulator.CheckGlobalRaces})
	newKit(t, gputest.Context(t, gputest.Driver(t, e))).takeTurns()
	if found := e.Findings(); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	each(t, func(k *kit) { k.takeTurns() })
}

func (k *kit) takeTurns() {
	k.Helper()
	a := k.arena(arena.WithCheck(func(err error) { k.Error(err) }))
	var wg sync.WaitGroup
	for i, opts := range [][]callable.Option{nil, {callable.WithAdaptive(10)}, {callable.WithAdaptive(1 << 30)}} {
		c, err := callable.New(k.Stream(), k.wide, nil, append(opts, callable.WithArena(a))...)
		k.OK(err)
		k.CloseLater(c)
		for j := range 2 {
			wg.Go(func() {
				for n := range uint32(20) {
					in := affine{ramp(1+int(n)%3, 100*n), uint32(3 + i), uint32(j) + n/8}
					err := c.CallWith(background, in, func(out *driver.HostBuffer[uint32]) error {
						for i, got := range out.Slice() {
							if want := in.x[i]*in.times + in.add; got != want {
								k.Errorf("element %d is %d, want %d", i, got, want)
							}
						}
						return nil
					})
					if err != nil {
						k.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}

// If the copy of a call's input could overlap another graph of the arena, the call must wait for
// that graph. Later graphs must wait for the call.
func TestCallsWaitForTheArena(t *testing.T) {
	eachMode(t, func(k *kit) {
		a := k.arena()
		in := affine{ramp(3, 5), 3, 1}
		first := made(k, k.wide, []affine{in}, callable.WithArena(a))
		k.answers(first, in)
		s := k.Stream()
		opts := []callable.Option{callable.WithArena(a)}
		if k.eager {
			opts = append(opts, callable.WithAdaptive(1<<30))
		}
		second, err := callable.New(s, k.wide, nil, opts...)
		k.OK(err)
		k.CloseLater(second)
		k.answers(second, in)
		release := graphtest.Block(k, k.S)
		defer release()
		p, err := first.Start(background, in)
		k.OK(err)
		q, err := second.Start(background, affine{ramp(3, 9), 2, 2})
		k.OK(err)
		ctx, cancel := context.WithCancel(background)
		cancel()
		if done, err := s.Query(); done || err != nil {
			k.Errorf("the second call does not wait: %v, %v", done, err)
		}
		if _, err := q.Wait(ctx); !errors.Is(err, context.Canceled) {
			k.Errorf("got %v", err)
		}
		release()
		for _, c := range []struct {
			p  callable.Pending[*driver.HostBuffer[uint32]]
			in affine
		}{{p, in}, {q, affine{ramp(3, 9), 2, 2}}} {
			out, err := c.p.Wait(background)
			k.OK(err)
			k.affineOf(c.in, out)
		}
	})
}

// With WithRefusal, a call that would wait must fail, and must leave the Callable usable.
func TestCallsInAnArenaThatRefuses(t *testing.T) {
	eachMode(t, func(k *kit) {
		a := k.arena(arena.WithRefusal())
		in := affine{ramp(3, 5), 3, 1}
		first := made(k, k.wide, []affine{in}, callable.WithArena(a))
		k.answers(first, in)
		opts := []callable.Option{callable.WithArena(a)}
		if k.eager {
			opts = append(opts, callable.WithAdaptive(1<<30))
		}
		second, err := callable.New(k.Stream(), k.wide, nil, opts...)
		k.OK(err)
		k.CloseLater(second)
		k.answers(second, in)
		release := graphtest.Block(k, k.S)
		defer release()
		p, err := first.Start(background, in)
		k.OK(err)
		_, err = second.Call(background, in)
		var overlap *arena.OverlapError
		if !errors.As(err, &overlap) || !strings.Contains(overlap.Running, "wide") {
			k.Errorf("got %v", err)
		}
		release()
		_, err = p.Wait(background)
		k.OK(err)
		k.answers(second, in)
	})
}

// A function that relies on what Scratch contained after the previous call is wrong in an arena.
// Arena.Check must report that the contents are lost.
func TestScratchIsLostInAnArena(t *testing.T) {
	eachMode(t, func(k *kit) {
		a := k.arena()
		var scratch *driver.Buffer[uint32]
		c := made(k, func(t *callable.Trace[int]) (int, error) {
			b := callable.Scratch[uint32](t, callable.Shape(t, func(n int) int { return n }))
			fill, err := driver.Fill[uint32](b, 7)
			t.Do(fill)
			if scratch == nil {
				scratch = b
			}
			return 0, err
		}, []int{4, 5}, callable.WithArena(a))
		for range 2 {
			_, err := c.Call(background, 4)
			k.OK(err)
			k.OK(a.Check(scratch))
			_, err = c.Call(background, 5)
			k.OK(err)
			var lost *arena.OverwrittenError
			if err := a.Check(scratch); !errors.As(err, &lost) || !strings.HasSuffix(lost.Plan, "shape 1") || !strings.HasSuffix(lost.By, "shape 2") {
				k.Errorf("got %v", err)
			}
		}
	})
}

// A closed arena must reject new shapes. Shapes that already have memory must continue to work.
func TestClosedArena(t *testing.T) {
	eachMode(t, func(k *kit) {
		a := k.arena()
		in := affine{ramp(3, 5), 3, 1}
		c := made(k, k.wide, []affine{in}, callable.WithArena(a))
		k.OK(a.Close())
		k.answers(c, in)
		if _, err := c.Call(background, affine{x: ramp(4, 0)}); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("got %v", err)
		}
		k.answers(c, in)
	})
}

func TestUnusableArenas(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		other, err := k.C.Device().NewContext(0)
		k.OK(err)
		k.CloseLater(other)
		elsewhere, err := arena.New(other)
		k.OK(err)
		k.CloseLater(elsewhere)
		for _, c := range []struct {
			a    *arena.Arena
			s    *driver.Stream
			want error
			says string
		}{
			{nil, k.S, driver.CUDA_ERROR_INVALID_VALUE, "arena.New"},
			{new(arena.Arena), k.S, driver.CUDA_ERROR_INVALID_VALUE, "arena.New"},
			{elsewhere, k.S, driver.CUDA_ERROR_INVALID_VALUE, "different contexts"},
			{a, k.C.PerThreadStream(), driver.ErrNotSupported, "a stream of its own"},
		} {
			_, err := callable.New(c.s, k.wide, nil, callable.WithArena(c.a))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				k.Errorf("got %v, want %q", err, c.says)
			}
		}
	})
}

// A launch that fails after the input was copied must leave the arena usable. Later graphs must
// still run after the copy.
func TestFailedLaunchEndsTheTurn(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	a := k.arena()
	in := affine{ramp(3, 5), 3, 1}
	first := made(k, k.wide, []affine{in}, callable.WithArena(a))
	s := k.Stream()
	second, err := callable.New(s, k.wide, []affine{in}, callable.WithArena(a))
	k.OK(err)
	k.CloseLater(second)
	release := graphtest.Block(k, k.S)
	defer release()
	lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
	_, err = first.Call(background, in)
	lib.Stop()
	if !errors.Is(err, graphtest.Injected) {
		t.Fatalf("got %v", err)
	}
	p, err := second.Start(background, in)
	k.OK(err)
	if done, err := s.Query(); done || err != nil {
		t.Errorf("the second call does not wait for the copy of the first: %v, %v", done, err)
	}
	release()
	out, err := p.Wait(background)
	k.OK(err)
	k.affineOf(in, out)
	k.answers(first, in)
}

// A call that fails after its input was copied has overwritten memory, so Arena.Check must report
// that results in this memory are lost.
func TestInputsOfAFailedCallOverwrite(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	a := k.arena()
	in := affine{ramp(3, 5), 3, 1}
	c := made(k, k.wide, []affine{in}, callable.WithArena(a))
	k.answers(c, in)
	p, err := a.Plan("result")
	k.OK(err)
	b, err := arena.Alloc[uint32](p, graphtest.Elems) // shares memory with the Callable
	k.OK(err)
	k.CloseLater(b)
	g := k.Graph()
	k.Add(g, k.Launch(k.Plus, b, 1))
	k.OK(k.Exec(g).Run(background, k.S))
	k.OK(a.Check(b))
	lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
	_, err = c.Call(background, in)
	lib.Stop()
	if !errors.Is(err, graphtest.Injected) {
		t.Fatalf("got %v", err)
	}
	var lost *arena.OverwrittenError
	if err := a.Check(b); !errors.As(err, &lost) || lost.Plan != "result" {
		t.Errorf("got %v", err)
	}
}
