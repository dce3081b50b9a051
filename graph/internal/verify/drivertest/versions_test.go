package drivertest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// Driver functions changed their signatures between CUDA 11.4 and 12.3. The same program must run
// on drivers from before and after each change.
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
	b := k.Memory()
	plus, times := k.Launch(k.Plus, b, 2), k.Launch(k.Times, b, 3)
	captured := k.Capture(func(sc *graph.Scope) error { return errors.Join(sc.Do(plus), sc.Do(times)) })
	x := k.Exec(captured)
	k.Run(x)
	k.Expect(b, 9)

	g := k.Graph()
	nodes, err := g.AddBatch(nil, graph.Chain([]driver.Op{plus, times}))
	k.OK(err)
	k.OK(nodes[0].Set(k.Launch(k.Plus, b, 1)))
	k.OK(x.Upload(k.S))
	r, err := x.Update(g)
	k.OK(err)
	if !r.Updated() {
		k.Fatalf("%v", r)
	}
	k.Run(x)
	k.Expect(b, 30)

	y := k.Exec(g)
	k.OK(y.Set(nodes[1], k.Launch(k.Times, b, 1)))
	k.Run(y)
	k.Expect(b, 31)

	deps, err := nodes[1].Dependencies()
	k.OK(err)
	if len(deps) != 1 || deps[0] != nodes[0] {
		k.Errorf("dependencies %v", deps)
	}
	for e, err := range g.Edges() {
		k.OK(err)
		if e.From != nodes[0] || e.To != nodes[1] {
			k.Errorf("edge %v", e)
		}
	}
	third := k.Add(g, plus)
	k.OK(graphtest.DependOn(third, nodes...))
	k.OK(g.RemoveEdges(graphtest.EdgesOf(nodes[:1], []graph.Node{third})...))
	how, err := y.Update(g, graph.WithReinstantiate())
	k.OK(err)
	if !how.Reinstantiated {
		k.Errorf("%v", how)
	}
	k.Run(y)
	k.Expect(b, 98)
}

func TestWhatAnOldDriverLacksIsNotSupported(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 2))
		x := k.Exec(g)
		if err := x.Enable(n, false); !errors.Is(err, driver.ErrNotSupported) {
			t.Errorf("Enable on CUDA 11.4: %v", err)
		}
		k.Run(x)
		k.Expect(b, 3)
	})
}

func (k *kit) tooOld(what, since string, err error) {
	k.Helper()
	if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), since) {
		k.Errorf("%s before CUDA %s: %v", what, since, err)
	}
}

func TestRareNodesOnOldDrivers(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.Memory()
		g := k.Graph()
		l := k.Launch(k.Plus, b, 5)
		n := k.Add(g, l)
		child := k.Graph()
		inner, err := g.AddChild(child, n)
		k.OK(err)
		p, err := graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](n) // uses the struct of the older version
		k.OK(err)
		if p.GridDimX != 1 || p.BlockDimX != elems || p.Func == 0 {
			k.Errorf("parameters %+v", p)
		}
		write, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](b, 0, 7, 0))
		k.OK(err)
		_, err = g.Add(write)
		k.tooOld("a node of memory operations", "11.7", err)
		_, err = g.AddBatch(nil, graph.Chain([]driver.Op{l, write}))
		k.tooOld("a node of memory operations in a chain", "11.7", err)
		_, err = g.AddPlan(k.ChainPlan(l, write))
		k.tooOld("a node of memory operations in a plan", "11.7", err)
		_, err = n.KernelArgs()
		k.tooOld("a kernel's arguments", "12.4", err)
		k.tooOld("a child that is set", "12.2", inner.SetChild(child))
		_, err = graphtest.AddAfter(g, l, graph.Programmatic(n, graph.Node{}))
		k.tooOld("a programmatic dependency", "12.3", err)
		if count, err := g.Len(); count != 2 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 6)
	})
}

// capability is a feature that CUDA version since introduced. try uses the feature.
type capability struct {
	what  string
	since int
	try   func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error
}

var capabilities = []capability{
	{"Exec.Enable", 11060, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return k.Exec(g).Enable(n, false)
	}},
	{"Exec.Enabled", 11060, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return graphtest.Second(k.Exec(g).Enabled(n))
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
		return graphtest.Second(k.Exec(g).Flags())
	}},
	{"memory operations", 11070, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		write, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](b, 0, 7, 0))
		k.OK(err)
		return graphtest.Second(g.Add(write))
	}},
	{"AddNode", 12020, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return graphtest.Second(g.AddNode(graphtest.FillParams(b, 1), nil, b.Ref()))
	}},
	{"Node.SetParams", 12020, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		fill, err := driver.Fill[uint32](b, 1)
		k.OK(err)
		return k.Add(g, fill).SetParams(graphtest.FillParams(b, 1), b.Ref())
	}},
	{"Exec.SetParams", 12020, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		fill, err := driver.Fill[uint32](b, 1)
		k.OK(err)
		f := k.Add(g, fill)
		return k.Exec(g).SetParams(f, graphtest.FillParams(b, 1), b.Ref())
	}},
	{"Node.SetChild", 12020, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		child := k.Graph()
		inner, err := g.AddChild(child)
		k.OK(err)
		return inner.SetChild(child)
	}},
	{"Add, then AddEdges with data", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return graphtest.Second(graphtest.AddAfter(g, k.Launch(k.Plus, b, 1), graph.Programmatic(n, graph.Node{})))
	}},
	{"AddEdges with data", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		m := k.Add(g, k.Launch(k.Plus, b, 1))
		return g.AddEdges(graph.Programmatic(n, m))
	}},
	{"Capture WithTarget", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return graphtest.Second(graphtest.CaptureInto(g, k.S, graph.ModeRelaxed, nil, func(*graph.Scope) error { return nil }))
	}},
	{"Begin WithTarget", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		r, err := graphtest.BeginInto(g, k.S, graph.ModeRelaxed)
		return errors.Join(err, r.Abort())
	}},
	{"Scope.SetDependencies with data", 12030, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		var answer error
		recorded, err := graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			nodes, err := sc.Dependencies()
			k.OK(err)
			answer = sc.SetDependencies(graph.Programmatic(nodes[0].From, graph.Node{}))
			return nil
		})
		k.OK(err)
		k.OK(recorded.Close())
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
		recorded, err := graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error {
			c, err := sc.NewCond()
			if err != nil {
				return err
			}
			return sc.If(c, nil)
		})
		return errors.Join(err, recorded.Close())
	}},
	{"Node.KernelArgs", 12040, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		return graphtest.Second(n.KernelArgs())
	}},
	{"IF-ELSE nodes", 12080, func(k *kit, _ *driver.Buffer[uint32], _ *graph.Graph, _ graph.Node) error {
		g := k.Graph() // a separate graph: an unused condition prevents instantiation
		c, err := g.NewCond()
		if err != nil {
			return fmt.Errorf("without conditions there is nothing of 12.8: %w", err)
		}
		_, _, _, err = g.AddIfElse(c)
		return err
	}},
	{"SWITCH nodes", 12080, func(k *kit, _ *driver.Buffer[uint32], _ *graph.Graph, _ graph.Node) error {
		g := k.Graph() // a separate graph: an unused condition prevents instantiation
		c, err := g.NewCond()
		if err != nil {
			return fmt.Errorf("without conditions there is nothing of 12.8: %w", err)
		}
		return third(g.AddSwitch(c, 3))
	}},
	{"AddChildMove", 12090, func(k *kit, b *driver.Buffer[uint32], g *graph.Graph, n graph.Node) error {
		child, err := graph.New(k.C)
		k.OK(err)
		return errors.Join(graphtest.Second(g.AddChildMove(child)), child.Close())
	}},
}

func third[T, U any](_ T, _ U, err error) error { return err }

// Each capability must work on drivers that have it. On older drivers, the error must match
// ErrNotSupported and name the CUDA version, and the graph must still work.
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
	b, other, g := k.Memory(), k.Memory(), k.Graph()
	n := k.Add(g, k.Launch(k.Plus, b, 1))
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
	x := k.Exec(g)
	k.Run(x)
	k.Expect(b, 2)
	k.Usable(k.S)
}
