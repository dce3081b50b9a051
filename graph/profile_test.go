package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func (k *kit) profile(g *graph.Graph, opts ...graph.ProfileOption) *graph.Profile {
	k.Helper()
	p, err := g.Profile(background, k.s, opts...)
	k.ok(err)
	return p
}

func (k *kit) nodesAndEdges(g *graph.Graph) (nodes []graph.Node, edges []graph.Edge) {
	k.Helper()
	for n, err := range g.Nodes() {
		k.ok(err)
		nodes = append(nodes, n)
	}
	for e, err := range g.Edges() {
		k.ok(err)
		edges = append(edges, e)
	}
	return nodes, edges
}

func TestProfileMeasuresEachNode(t *testing.T) {
	each(t, func(k *kit) {
		s := newScene(k)
		p := k.profile(s.g)
		if p.Rounds != 5 || p.Run <= 0 || p.Measured <= 0 || p.Overhead < 0 {
			k.Errorf("%+v", p)
		}
		measured := map[graph.Node]graph.NodeTime{}
		for n := range p.Nodes() {
			measured[n.Node] = n
			if n.Time < 0 || n.Start <= 0 {
				k.Errorf("%+v", n)
			}
		}
		if len(measured) != 9 {
			k.Errorf("%d nodes were measured, 6 and 3 in child graphs are there", len(measured))
		}
		_, edges := k.nodesAndEdges(s.g)
		for _, e := range edges {
			if measured[e.From].Start >= measured[e.To].Start {
				k.Errorf("%v began at %v, and %v, which it runs after, at %v", e.To, measured[e.To].Start, e.From, measured[e.From].Start)
			}
		}
		text := k.text(func(b *strings.Builder) error { return s.g.WriteSummary(b, graph.Timed(p)) })
		k.Logf("%s", text)
		if !strings.Contains(text, "*") || !strings.Contains(text, "takes") {
			k.Errorf("no times in\n%s", text)
		}
	})
}

func TestProfileRunsTheGraphSoManyTimes(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		k.add(g, k.launch(k.plus, b, 1))
		if p := k.profile(g, graph.ProfileRounds(3)); p.Rounds != 3 {
			k.Errorf("%d rounds", p.Rounds)
		}
		k.expect(b, 1+2*(3+1))
	})
}

// The critical path is by way of the slow one of two branches. Side by side the
// fast one may have to wait for the slow one, and then takes as long.
func TestProfileFindsTheCriticalPath(t *testing.T) {
	each(t, func(k *kit) {
		const pause = 5 * time.Millisecond
		b := k.memory()
		slow, err := driver.NewHostFunc(k.c, func() { time.Sleep(pause) })
		k.ok(err)
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 1))
		fast := k.add(g, k.launch(k.plus, b, 1), first)
		long := k.add(g, slow, first)
		last := k.add(g, k.launch(k.plus, b, 1), fast, long)
		p := k.profile(g, graph.ProfileOneByOne())
		path, total := p.CriticalPath()
		if want := []graph.Node{first, long, last}; fmt.Sprint(path[:2]) != fmt.Sprint(want[:2]) || len(path) > 3 {
			k.Errorf("critical path %v, want %v", path, want)
		}
		took, ok := p.Time(long)
		if !ok || took.Time < pause*9/10 || total < took.Time || p.Run < pause*9/10 {
			k.Errorf("%v of %v in a run of %v", took, total, p.Run)
		}
		if took, ok := k.profile(g).Time(long); !ok || took.Time < pause*9/10 {
			k.Errorf("side by side %v", took)
		}
	})
}

func TestProfileLeavesTheGraphAsItWas(t *testing.T) {
	each(t, func(k *kit) {
		s := newScene(k)
		x := k.exec(s.g)
		nodes, edges := k.nodesAndEdges(s.g)
		child, err := s.nest.ChildGraph()
		k.ok(err)
		inNodes, inEdges := k.nodesAndEdges(child)
		before := k.text(func(b *strings.Builder) error { return s.g.WriteDOT(b) })
		k.profile(s.g)
		again, edgesAgain := k.nodesAndEdges(s.g)
		inAgain, inEdgesAgain := k.nodesAndEdges(child)
		if fmt.Sprint(nodes) != fmt.Sprint(again) || len(edges) != len(edgesAgain) ||
			fmt.Sprint(inNodes) != fmt.Sprint(inAgain) || len(inEdges) != len(inEdgesAgain) {
			k.Errorf("nodes %v and edges %v, before %v and %v", again, edgesAgain, nodes, edges)
		}
		k.golden("scene.dot", before)
		k.golden("scene.dot", k.text(func(b *strings.Builder) error { return s.g.WriteDOT(b) }))
		r, err := x.Update(s.g)
		k.ok(err)
		if !r.Updated() {
			k.Errorf("an exec from before: %v", r)
		}
		k.run(x)
		n, err := s.g.AddEmpty(s.end)
		k.ok(err)
		if n.String() != "node 6" {
			k.Errorf("the next node is %v", n)
		}
	})
}

func TestProfileOfAConditionalMeasuresTheWhole(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 1))
		n, body, err := g.AddIf(k.cond(g, graph.WithDefault(1)), first)
		k.ok(err)
		in := k.add(body, k.launch(k.plus, b, 1))
		p := k.profile(g, graph.ProfileRounds(1))
		if _, ok := p.Time(n); !ok {
			k.Errorf("%v was not measured", n)
		}
		if _, ok := p.Time(in); ok {
			k.Errorf("%v in a body was measured", in)
		}
		k.expect(b, 1+2*2*2)
		k.profile(g) // Execs that measured are gone
	})
}

func TestProfileOfAnEmptyGraph(t *testing.T) {
	each(t, func(k *kit) {
		p := k.profile(k.graph())
		if path, total := p.CriticalPath(); len(path) != 0 || total != 0 {
			k.Errorf("critical path %v of %v", path, total)
		}
	})
}

// Drawing and measuring use functions that changed their form.
func TestDrawingAndProfileOnOlderDrivers(t *testing.T) {
	for _, version := range []int{11040, 12000, 12020, 12030, 12080} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				s := newScene(k)
				p := k.profile(s.g, graph.ProfileRounds(1), graph.ProfileOneByOne())
				if _, ok := p.Time(s.end); !ok {
					k.Errorf("%v was not measured", s.end)
				}
				text := k.text(func(b *strings.Builder) error { return s.g.WriteSummary(b, graph.Timed(p)) })
				if !strings.Contains(text, "plus") || !strings.Contains(text, "grid 1 block 32") {
					k.Errorf("summary\n%s", text)
				}
			})
		})
	}
}

// Nodes that are of no profile are drawn without times.
func TestDrawingOfNodesThatWereNotMeasured(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g, other := k.graph(), k.graph()
		k.add(g, k.launch(k.plus, b, 1))
		k.add(other, k.launch(k.plus, b, 1))
		p := k.profile(g)
		plain := k.text(func(b *strings.Builder) error { return other.WriteDOT(b) })
		timed := k.text(func(b *strings.Builder) error { return other.WriteDOT(b, graph.Timed(p)) })
		if plain != timed {
			k.Errorf("drawn as\n%s", timed)
		}
	})
}

func TestProfileRefusesMemoryNodes(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		var n cu.CUgraphNode
		var p cu.CUDA_MEM_ALLOC_NODE_PARAMS
		p.PoolProps.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
		p.PoolProps.Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
		p.Bytesize = 64
		k.ok(k.c.Driver().CuGraphAddMemAllocNode(&n, g.Raw(), nil, 0, &p))
		k.ok(k.c.Driver().CuGraphAddMemFreeNode(new(cu.CUgraphNode), g.Raw(), &n, 1, p.Dptr))
		_, err := g.Profile(background, k.s)
		if !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) || !strings.Contains(err.Error(), "allocation") {
			k.Errorf("got %v", err)
		}
		text := k.text(func(b *strings.Builder) error { return g.WriteSummary(b) })
		if !strings.Contains(text, "64 bytes") || !strings.Contains(text, "1 × allocation, 1 × free") {
			k.Errorf("summary\n%s", text)
		}
	})
}

func TestProfileRefusesBadInput(t *testing.T) {
	each(t, func(k *kit) {
		s := newScene(k)
		child, err := s.nest.ChildGraph()
		k.ok(err)
		closed, err := graph.New(k.c)
		k.ok(err)
		k.ok(closed.Close())
		gone := k.stream()
		k.ok(gone.Close())
		over, cancel := context.WithCancel(background)
		cancel()
		cases := []struct {
			name string
			want error
			err  func() error
		}{
			{"nil graph", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := (*graph.Graph)(nil).Profile(background, k.s); return err }},
			{"closed graph", driver.ErrClosed, func() error { _, err := closed.Profile(background, k.s); return err }},
			{"nil stream", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := s.g.Profile(background, nil); return err }},
			{"closed stream", driver.ErrClosed, func() error { _, err := s.g.Profile(background, gone); return err }},
			{"no rounds", driver.CUDA_ERROR_INVALID_VALUE, func() error {
				_, err := s.g.Profile(background, k.s, graph.ProfileRounds(0))
				return err
			}},
			{"graph in a node", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := child.Profile(background, k.s); return err }},
			{"cancelled", context.Canceled, func() error { _, err := s.g.Profile(over, k.s); return err }},
		}
		for _, c := range cases {
			if err := c.err(); !errors.Is(err, c.want) {
				k.Errorf("%s: got %v, want %v", c.name, err, c.want)
			}
		}
		graph.WaitParked()
		k.usable(k.s)
		k.golden("scene.dot", k.text(func(b *strings.Builder) error { return s.g.WriteDOT(b) }))
	})
}

// A stream that captures is left capturing.
func TestProfileRefusesACapturingStream(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 1)
		k.add(g, l)
		captured := k.capture(func(sc *graph.Scope) error {
			if _, err := g.Profile(background, k.s); !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Errorf("got %v", err)
			}
			return sc.Do(l)
		})
		k.run(k.exec(captured))
		k.expect(b, 2)
	})
}
