package graph_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// scene makes the graph of graphtest.
func (k *kit) scene() *graphtest.Scene {
	k.Helper()
	return graphtest.NewScene(&graphtest.Kit{TB: k.TB, C: k.c, S: k.s, Plus: k.plus, Times: k.times, Sum: k.sum})
}

func (k *kit) snapshot(g *graph.Graph) *graph.Snapshot {
	k.Helper()
	s, err := g.Snapshot()
	k.ok(err)
	return s
}

// timeOf is what a profile says of a node.
func timeOf(p *graph.Snapshot, n graph.Node) *graph.SnapshotNode {
	for s := range p.All() {
		if s.Node == n {
			return s
		}
	}
	return &graph.SnapshotNode{}
}

func (k *kit) profile(g *graph.Graph, opts ...graph.ProfileOption) *graph.Snapshot {
	k.Helper()
	p, err := g.Profile(background, k.s, opts...)
	k.ok(err)
	return p
}

func TestProfileMeasuresEachNode(t *testing.T) {
	each(t, func(k *kit) {
		s := k.scene()
		p := k.profile(s.G)
		if p.Profile.Rounds != 5 || p.Profile.Run <= 0 || p.Profile.Measured <= 0 || p.Profile.Overhead < 0 {
			k.Errorf("%+v", p.Profile)
		}
		measured := 0
		for n := range p.All() {
			if n.Timed {
				measured++
			}
			if n.Time < 0 || n.Start <= 0 {
				k.Errorf("%+v", n)
			}
		}
		if measured != 9 {
			k.Errorf("%d nodes were measured, 6 and 3 in child graphs are there", measured)
		}
		for _, e := range p.Edges {
			if from, to := &p.Nodes[e.From], &p.Nodes[e.To]; from.Start >= to.Start {
				k.Errorf("%v began at %v, and %v, which it runs after, at %v", to.ID, to.Start, from.ID, from.Start)
			}
		}
	})
}

func TestProfileRunsTheGraphSoManyTimes(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		k.add(g, k.launch(k.plus, b, 1))
		if p := k.profile(g, graph.WithRounds(3)); p.Profile.Rounds != 3 {
			k.Errorf("%d rounds", p.Profile.Rounds)
		}
		k.expect(b, 1+2*(3+1))
	})
}

func TestProfileLeavesTheGraphAsItWas(t *testing.T) {
	each(t, func(k *kit) {
		s := k.scene()
		x := k.exec(s.G)
		before := k.snapshot(s.G)
		k.profile(s.G)
		if after := k.snapshot(s.G); !reflect.DeepEqual(after, before) {
			k.Errorf("%+v, before %+v", after, before)
		}
		r, err := x.Update(s.G)
		k.ok(err)
		if !r.Updated() {
			k.Errorf("an exec from before: %v", r)
		}
		k.run(x)
		n, err := s.G.AddEmpty(s.End)
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
		p := k.profile(g, graph.WithRounds(1))
		if !timeOf(p, n).Timed {
			k.Errorf("%v was not measured", n)
		}
		if inside := timeOf(p, in); inside.ID != "1.0.0" || inside.Timed {
			k.Errorf("a node in a body: %+v", inside)
		}
		k.expect(b, 1+2*2*2)
		k.profile(g) // Execs that measured are gone
	})
}

func TestProfileOfAnEmptyGraph(t *testing.T) {
	each(t, func(k *kit) {
		p := k.profile(k.graph())
		if len(p.Nodes) != 0 || p.Profile.Run <= 0 {
			k.Errorf("%+v", p)
		}
	})
}

// Measuring uses functions that changed their form.
func TestProfileOnOlderDrivers(t *testing.T) {
	for _, version := range []int{11040, 12000, 12020, 12030, 12080} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				s := k.scene()
				p := k.profile(s.G, graph.WithRounds(1), graph.WithOneByOne())
				if !timeOf(p, s.End).Timed {
					k.Errorf("%v was not measured", s.End)
				}
				if n := timeOf(p, s.Left); n.Name != "plus" || n.Params != "grid 1 block 32" {
					k.Errorf("%+v", n)
				}
			})
		})
	}
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
		if s := k.snapshot(g); s.Nodes[0].Kind != "allocation" || s.Nodes[0].Params != "64 bytes" || s.Nodes[1].Kind != "free" {
			k.Errorf("%+v", s)
		}
	})
}

func TestProfileRefusesBadInput(t *testing.T) {
	each(t, func(k *kit) {
		s := k.scene()
		before := k.snapshot(s.G)
		child, err := s.Nest.ChildGraph()
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
			{"nil stream", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := s.G.Profile(background, nil); return err }},
			{"closed stream", driver.ErrClosed, func() error { _, err := s.G.Profile(background, gone); return err }},
			{"no rounds", driver.CUDA_ERROR_INVALID_VALUE, func() error {
				_, err := s.G.Profile(background, k.s, graph.WithRounds(0))
				return err
			}},
			{"graph in a node", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := child.Profile(background, k.s); return err }},
			{"cancelled", context.Canceled, func() error { _, err := s.G.Profile(over, k.s); return err }},
		}
		for _, c := range cases {
			if err := c.err(); !errors.Is(err, c.want) {
				k.Errorf("%s: got %v, want %v", c.name, err, c.want)
			}
		}
		graph.WaitParked()
		k.usable(k.s)
		if after := k.snapshot(s.G); !reflect.DeepEqual(after, before) {
			k.Errorf("%+v, before %+v", after, before)
		}
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
