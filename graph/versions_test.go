package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
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

// tooOld looks for the answer of a driver that lacks what came later.
func (k *kit) tooOld(what, since string, err error) {
	k.Helper()
	if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), since) {
		k.Errorf("%s before CUDA %s: %v", what, since, err)
	}
}

func TestRareNodesOnOldDrivers(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 5)
		n := k.add(g, l)
		child := k.graph()
		inner, err := g.AddChild(child, n)
		k.ok(err)
		p, err := graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](n) // by the form of that time
		k.ok(err)
		if p.GridDimX != 1 || p.BlockDimX != elems || p.Func == 0 {
			k.Errorf("parameters %+v", p)
		}
		write, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 7, 0))
		k.ok(err)
		_, err = g.Add(write)
		k.tooOld("a node of memory operations", "11.7", err)
		_, err = g.AddBatch(nil, graph.Chain([]driver.Op{l, write}))
		k.tooOld("a node of memory operations in a chain", "11.7", err)
		_, err = g.AddPlan(k.chainPlan(l, write))
		k.tooOld("a node of memory operations in a plan", "11.7", err)
		_, err = n.KernelArgs()
		k.tooOld("a kernel's arguments", "12.4", err)
		k.tooOld("a child that is set", "12.2", inner.SetChild(child))
		_, err = addAfter(g, l, graph.Programmatic(n, graph.Node{}))
		k.tooOld("a programmatic dependency", "12.3", err)
		if count, err := g.Len(); count != 2 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
		k.run(k.exec(g))
		k.expect(b, 6)
	})
}

// capability is what came with a CUDA version. try uses it; needs names other
// versions whose absence stops it before.
type capability struct {
	what  string
	since int
	try   func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error
}

var capabilities = []capability{
	{"Exec.Enable", 11060, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return k.exec(g).Enable(n, false)
	}},
	{"Exec.Enabled", 11060, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return second(k.exec(g).Enabled(n))
	}},
	{"WithNodePriorities", 11070, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		x, err := g.Instantiate(graph.WithNodePriorities())
		return errors.Join(err, x.Close())
	}},
	{"WithDeviceLaunch", 12000, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		x, err := g.Instantiate(graph.WithDeviceLaunch())
		return errors.Join(err, x.Close())
	}},
	{"Exec.Flags", 12000, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return second(k.exec(g).Flags())
	}},
	{"memory operations", 11070, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		write, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 7, 0))
		k.ok(err)
		return second(g.Add(write))
	}},
	{"AddNode", 12020, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return second(g.AddNode(fillParams(b, 1), nil, b.Ref()))
	}},
	{"Node.SetParams", 12020, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		fill, err := driver.Fill[uint32](b, 1)
		k.ok(err)
		return k.add(g, fill).SetParams(fillParams(b, 1), b.Ref())
	}},
	{"Exec.SetParams", 12020, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		fill, err := driver.Fill[uint32](b, 1)
		k.ok(err)
		f := k.add(g, fill)
		return k.exec(g).SetParams(f, fillParams(b, 1), b.Ref())
	}},
	{"Node.SetChild", 12020, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		child := k.graph()
		inner, err := g.AddChild(child)
		k.ok(err)
		return inner.SetChild(child)
	}},
	{"Add, then AddEdges with data", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return second(addAfter(g, k.launch(k.plus, b, 1), graph.Programmatic(n, graph.Node{})))
	}},
	{"AddEdges with data", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		m := k.add(g, k.launch(k.plus, b, 1))
		return g.AddEdges(graph.Programmatic(n, m))
	}},
	{"Capture WithTarget", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return second(intoGraph(g, k.s, graph.ModeRelaxed, nil, func(*graph.Scope) error { return nil }))
	}},
	{"Begin WithTarget", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		r, err := beginInto(g, k.s, graph.ModeRelaxed)
		return errors.Join(err, r.Abort())
	}},
	{"Scope.SetDependencies with data", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		var answer error
		recorded, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.plus, b, 1)))
			nodes, err := sc.Dependencies()
			k.ok(err)
			answer = sc.SetDependencies(graph.Programmatic(nodes[0].From, graph.Node{}))
			return nil
		})
		k.ok(err)
		k.ok(recorded.Close())
		return answer
	}},
	{"conditions", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		c, err := g.NewCond()
		if err != nil {
			return err
		}
		return third(g.AddIf(c))
	}},
	{"conditions in a capture", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		recorded, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
			c, err := sc.NewCond()
			if err != nil {
				return err
			}
			return sc.If(c, nil)
		})
		return errors.Join(err, recorded.Close())
	}},
	{"Node.KernelArgs", 12040, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return second(n.KernelArgs())
	}},
	{"IF-ELSE nodes", 12080, func(k *kit, _ *driver.Buffer[uint32], _ *graph.Graph, _ graph.Node) error {
		g := k.graph() // the condition keeps it from being instantiated
		c, err := g.NewCond()
		if err != nil {
			return fmt.Errorf("without conditions there is nothing of 12.8: %w", err)
		}
		_, _, _, err = g.AddIfElse(c)
		return err
	}},
	{"SWITCH nodes", 12080, func(k *kit, _ *driver.Buffer[uint32], _ *graph.Graph, _ graph.Node) error {
		g := k.graph() // the condition keeps it from being instantiated
		c, err := g.NewCond()
		if err != nil {
			return fmt.Errorf("without conditions there is nothing of 12.8: %w", err)
		}
		return third(g.AddSwitch(c, 3))
	}},
	{"AddChildMove", 12090, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		child, err := graph.New(k.c)
		k.ok(err)
		return errors.Join(second(g.AddChildMove(child)), child.Close())
	}},
}

func third[T, U any](_ T, _ U, err error) error { return err }

// Each capability works on drivers that have it; on those before, the answer
// matches ErrNotSupported and says which CUDA it takes, and the graph works on.
func TestCapabilitiesByVersion(t *testing.T) {
	for _, version := range []int{11040, 11060, 11070, 12000, 12020, 12030, 12040, 12080, 12090, 13000} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				for _, what := range capabilities {
					k.byVersion(what, version)
				}
			})
		})
	}
}

func (k *kit) byVersion(c capability, version int) {
	b, other, g := k.memory(), k.memory(), k.graph()
	n := k.add(g, k.launch(k.plus, b, 1))
	err := c.try(k, other, g, n)
	since := fmt.Sprintf("%d.%d", c.since/1000, c.since%1000/10)
	switch {
	case version >= c.since && err != nil:
		k.Errorf("%s: %v", c.what, err)
	case version >= c.since:
		return
	case !errors.Is(err, driver.ErrNotSupported):
		k.Errorf("%s before CUDA %s: %v", c.what, since, err)
	case !strings.Contains(err.Error(), since):
		k.Errorf("%s: the error does not say CUDA %s: %v", c.what, since, err)
	}
	x := k.exec(g)
	k.run(x)
	k.expect(b, 2)
	k.usable(k.s)
}
