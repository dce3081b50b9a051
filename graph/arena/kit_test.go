package arena_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

const elems = graphtest.Elems

var background = context.Background()

type kit struct{ *graphtest.Kit }

func newKit(t testing.TB, c *driver.Context) *kit { return &kit{graphtest.NewKit(t, c)} }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k}) })
}

// arena returns an arena that is closed at the end of the test.
func (k *kit) arena(opts ...arena.Option) *arena.Arena {
	k.Helper()
	a, err := arena.New(k.C, opts...)
	k.OK(err)
	k.CloseLater(a)
	return a
}

func (k *kit) plan(a *arena.Arena, name string) *arena.Plan {
	k.Helper()
	p, err := a.Plan(name)
	k.OK(err)
	return p
}

// alloc returns a buffer that is closed at the end of the test.
func (k *kit) alloc(p *arena.Plan, n int) *driver.Buffer[uint32] {
	k.Helper()
	b, err := arena.Alloc[uint32](p, n)
	k.OK(err)
	k.CloseLater(b)
	return b
}

// member is an executable graph that uses memory of a plan.
type member struct {
	p    *arena.Plan
	x    *graph.Exec
	in   *driver.Buffer[uint32] // a buffer of the plan that the graph fills and changes
	node graph.Node             // the kernel that changes in
	l    *driver.Launch         // its launch
	out  *driver.Buffer[uint32] // outside the arena; each launch writes from+v to it
}

// member creates a plan, and a graph as memberWith does.
func (k *kit) member(a *arena.Arena, name string, from, v uint32) *member {
	k.Helper()
	return k.memberOf(k.plan(a, name), from, v)
}

func (k *kit) memberOf(p *arena.Plan, from, v uint32) *member {
	k.Helper()
	m := k.memberWith(k.alloc(p, elems), from, v)
	m.p = p
	return m
}

// memberWith creates a graph with the operations fill(in, from), in += v, out = in.
func (k *kit) memberWith(in *driver.Buffer[uint32], from, v uint32) *member {
	k.Helper()
	m := &member{in: in, out: k.Memory()}
	fill, err := driver.Fill(m.in, from)
	k.OK(err)
	m.l = k.Launch(k.Plus, m.in, v)
	down, err := driver.CopyDevice(m.out, m.in)
	k.OK(err)
	g := k.Graph()
	n := k.Add(g, fill)
	m.node = k.Add(g, m.l, n)
	k.Add(g, down, m.node)
	m.x = k.Exec(g)
	return m
}

// pair returns two graphs of two plans that use the same addresses.
func (k *kit) pair(opts ...arena.Option) (a *arena.Arena, first, second *member) {
	k.Helper()
	a = k.arena(opts...)
	first = k.member(a, "first", 10, 1)
	k.OK(first.p.Seal())
	second = k.member(a, "second", 20, 2)
	if first.in.Ptr() != second.in.Ptr() {
		k.Fatalf("the plans have different addresses, %#x and %#x", first.in.Ptr(), second.in.Ptr())
	}
	return a, first, second
}

// blocked enqueues work that ends when the returned function is called, or when the test ends.
func (k *kit) blocked(s *driver.Stream) (release func()) {
	k.Helper()
	release = graphtest.Block(k, s)
	k.Cleanup(release)
	return release
}

// waits checks that the work in a stream does not end within 20 ms, because it waits for work that
// the test blocks.
func (k *kit) waits(what string, s *driver.Stream) {
	k.Helper()
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	if err := s.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		k.Errorf("%s: the stream does not wait: %v", what, err)
	}
}
