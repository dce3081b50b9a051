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
