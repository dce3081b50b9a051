package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

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
