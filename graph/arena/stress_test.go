package arena_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/uses"
)

// hook is an operation that calls a function when it is enqueued.
type hook struct {
	c *driver.Context
	f func()
}

func (h hook) Enqueue(*driver.Stream) error { h.f(); return nil }
func (h hook) Context() *driver.Context     { return h.c }
func (hook) Uses() uses.Set                 { return uses.Set{} }
func (hook) String() string                 { return "hook" }

// A launch of another plan fails in the middle of a Stage, after it recorded the event that it
// waits for. Later launches must wait for all staged work, including the work after the event.
func TestLaunchWaitsForAllThatIsStaged(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	_, first, second := k.pair()
	s, gate := k.Stream(), make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	k.Cleanup(open)
	blocks, err := driver.NewHostFunc(k.C, func() { <-gate })
	k.OK(err)
	before := k.blocked(s) // without this work, the failing launch would not have to wait
	lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
	k.OK(second.x.Stage(s, hook{k.C, func() {
		if err := first.x.Launch(k.S); !errors.Is(err, graphtest.Injected) {
			k.Errorf("got %v", err)
		}
	}}, blocks))
	lib.Stop()
	before()
	k.OK(first.x.Launch(k.S))
	k.waits("after staged work", k.S)
	open()
	k.Wait(k.S)
	k.Expect(first.out, 11)
}

// Many goroutines launch, change, create and close graphs of one arena on several streams. Each
// graph must compute its own result, and the emulator must find no race.
func TestManyGoroutinesLaunch(t *testing.T) {
	e := emulator.New(emulator.Config{Check: emulator.CheckGlobalRaces})
	newKit(t, gputest.Context(t, gputest.Driver(t, e))).stress()
	if found := e.Findings(); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	each(t, func(k *kit) { k.stress(arena.WithCheck(func(err error) { k.Error(err) })) })
}

func (k *kit) stress(opts ...arena.Option) {
	k.Helper()
	const goroutines, launches = 12, 30
	a := k.arena(opts...)
	streams := []*driver.Stream{k.S, k.Stream(), k.Stream()}
	members := make([]*member, goroutines)
	for i := range members {
		p, err := a.SharedPlan(fmt.Sprint(i)) // its buffer stays open for Stage
		k.OK(err)
		members[i] = k.memberOf(p, uint32(100*i), uint32(i))
	}
	var wg sync.WaitGroup
	for i, m := range members {
		rnd := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() {
			for range launches {
				if err := k.oneOf(m, rnd.IntN(5), streams[rnd.IntN(len(streams))]); err != nil {
					k.Error(err)
				}
			}
		})
	}
	for range 2 { // these goroutines allocate, read reports, and launch graphs that other goroutines also launch
		wg.Go(func() {
			for i := range launches {
				p, err := a.Plan("temporary")
				if err == nil {
					_, err = arena.Alloc[byte](p, 1000*(i+1))
				}
				m := members[i%goroutines]
				if err := errors.Join(err, p.Close(), m.x.Launch(streams[i%len(streams)])); err != nil || a.Report().Bytes == 0 {
					k.Errorf("got %v, and the arena has %v", err, a.Report())
				}
			}
		})
	}
	wg.Wait()
	for _, s := range streams {
		k.Wait(s)
	}
	for i, m := range members {
		k.Expect(m.out, uint32(101*i))
	}
}

// oneOf launches a member in one of several ways.
func (k *kit) oneOf(m *member, way int, s *driver.Stream) error {
	switch way {
	case 0:
		return m.x.Run(background, s)
	case 1:
		fill, err := driver.Fill(m.in, uint32(7))
		return errors.Join(err, m.x.Stage(s, fill), m.x.Launch(s))
	case 2:
		x, err := m.x.Graph().Instantiate()
		if err != nil {
			return err
		}
		return errors.Join(x.Launch(s), x.Close())
	case 3:
		_, err := m.x.Update(m.x.Graph(), graph.WithReinstantiate())
		return errors.Join(err, m.x.Launch(s))
	}
	return m.x.Launch(s)
}

// The calls of this driver do nothing, so the results are the library's host time per launch. The
// cases are a graph with its own memory, one graph of an arena, and two graphs of an arena that are
// launched alternately.
func BenchmarkLaunch(b *testing.B) {
	k := newKit(b, gputest.Context(b, graphtest.NullDriver(b)))
	own := k.memberWith(k.Memory(), 1, 2)
	_, first, second := k.pair(arena.WithoutMapping())
	s := k.Stream()
	for _, c := range []struct {
		name   string
		launch func() error
	}{
		{"own memory", func() error { return own.x.Launch(k.S) }},
		{"arena", func() error { return first.x.Launch(k.S) }},
		{"arena, in turn", func() error { return errors.Join(first.x.Launch(k.S), second.x.Launch(k.S)) }},
		{"arena, in turn on two streams", func() error { return errors.Join(first.x.Launch(k.S), second.x.Launch(s)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			k.OK(c.launch())
			b.ReportAllocs()
			for b.Loop() {
				if err := c.launch(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
