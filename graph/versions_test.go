package graph_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Functions changed their form in CUDA 11.4 to 12.3. The same program runs on
// drivers from before and after each change.
func TestOlderDrivers(t *testing.T) {
	for _, version := range []int{11040, 11060, 12000, 12020, 12030, 12080, 13000} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				everything(newKit(t, c))
			})
		})
	}
}

func everything(k *kit) {
	b := k.memory()
	plus, times := k.launch(k.plus, b, 2), k.launch(k.times, b, 3)
	captured := k.capture(func(sc *graph.Scope) error { return errors.Join(sc.Do(plus), sc.Do(times)) })
	x := k.exec(captured)
	k.run(x)
	k.expect(b, 9)

	g := k.graph()
	nodes, err := g.AddBatch(nil, graph.Chain([]driver.Op{plus, times}))
	k.ok(err)
	k.ok(nodes[0].Set(k.launch(k.plus, b, 1)))
	k.ok(x.Upload(k.s))
	r, err := x.Update(g)
	k.ok(err)
	if !r.Updated() {
		k.Fatalf("%v", r)
	}
	k.run(x)
	k.expect(b, 30)

	y := k.exec(g)
	k.ok(y.Set(nodes[1], k.launch(k.times, b, 1)))
	k.run(y)
	k.expect(b, 31)

	deps, err := nodes[1].Dependencies()
	k.ok(err)
	if len(deps) != 1 || deps[0] != nodes[0] {
		k.Errorf("dependencies %v", deps)
	}
	for e, err := range g.Edges() {
		k.ok(err)
		if e.From != nodes[0] || e.To != nodes[1] {
			k.Errorf("edge %v", e)
		}
	}
	third := k.add(g, plus)
	k.ok(dependOn(third, nodes...))
	k.ok(g.RemoveEdges(edgesOf(nodes[:1], []graph.Node{third})...))
	how, err := y.Update(g, graph.WithReinstantiate())
	k.ok(err)
	if !how.Reinstantiated {
		k.Errorf("%v", how)
	}
	k.run(y)
	k.expect(b, 98)
}

func TestWhatAnOldDriverLacksIsNotSupported(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 2))
		x := k.exec(g)
		if err := x.Enable(n, false); !errors.Is(err, driver.ErrNotSupported) {
			t.Errorf("Enable on CUDA 11.4: %v", err)
		}
		k.run(x)
		k.expect(b, 3)
	})
}
