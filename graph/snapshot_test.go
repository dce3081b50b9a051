package graph_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestSnapshotIsPlainData(t *testing.T) {
	each(t, func(k *kit) {
		s := graphtest.NewScene(k.Kit)
		p := k.Snapshot(s.G)
		want := []string{
			"0 fill \"\" [128 bytes with 0x4]",
			"1 kernel \"plus\" [grid 1 block 32]",
			`2 kernel "the \"other\" \\ half" [grid 1 block 32]`,
			"3 copy \"\" [128 bytes device to device]",
			"4 child graph \"\" []",
			"4.0.0 kernel \"times\" [grid 1 block 32]",
			"4.0.1 child graph \"\" []",
			"4.0.1.0.0 kernel \"plus\" [grid 1 block 32]",
			"5 empty \"end\" []",
		}
		var got []string
		for n := range p.All() {
			got = append(got, fmt.Sprintf("%s %s %q [%s]", n.ID, n.Kind, n.Name, n.Params))
		}
		if !slices.Equal(got, want) {
			k.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		plain := cu.CUgraphEdgeData{}
		edges := []graph.SnapshotEdge{{0, 1, plain}, {0, 2, plain}, {1, 3, plain}, {2, 3, plain}, {3, 4, plain}, {4, 5, plain}}
		if !slices.Equal(p.Edges, edges) {
			k.Errorf("edges %v, want %v", p.Edges, edges)
		}
		if n := p.Nodes[3]; n.Node != s.Join || n.Type != cu.CU_GRAPH_NODE_TYPE_MEMCPY {
			k.Errorf("%+v", n)
		}
		for n := range p.All() { // the loop may end early, even inside a child graph
			if n.ID == "4.0.0" {
				break
			}
		}
		if _, err := json.Marshal(p); err != nil {
			k.Error(err)
		}
	})
}

func TestSnapshotHasTheLabelsOfBodies(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		_, _, _, err := g.AddIfElse(k.Cond(g))
		k.OK(err)
		_, _, err = g.AddWhile(k.Cond(g))
		k.OK(err)
		_, _, err = g.AddSwitch(k.Cond(g), 3)
		k.OK(err)
		var got []string
		for n := range k.Snapshot(g).All() {
			got = append(got, n.Kind)
			for _, in := range n.Graphs {
				got = append(got, in.Label)
			}
		}
		want := "IF-ELSE then else WHILE body SWITCH body 0 body 1 body 2"
		if strings.Join(got, " ") != want {
			k.Errorf("%v, want %s", got, want)
		}
	})
}

func TestSnapshotOfAnExecSaysWhichNodesAreOff(t *testing.T) {
	each(t, func(k *kit) {
		s := graphtest.NewScene(k.Kit)
		x := k.Exec(s.G)
		k.OK(x.Enable(s.Left, false))
		p, err := x.Snapshot()
		k.OK(err)
		for n := range p.All() {
			if n.Off != (n.Node == s.Left) {
				k.Errorf("node %s is off: %v", n.ID, n.Off)
			}
		}
	})
}

// A snapshot must be consistent while other goroutines change the graph.
func TestSnapshotWhileTheGraphChanges(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		l := k.Launch(k.Plus, b, 1)
		added := make(chan error, 1)
		go func() {
			var err error
			for n, prev := 0, []graph.Node(nil); n < 3000 && err == nil; n++ {
				var node graph.Node
				node, err = g.Add(l, prev...)
				prev = []graph.Node{node}
			}
			added <- err
		}()
		for running := true; running; {
			select {
			case err := <-added:
				k.OK(err)
				running = false
			default:
				runtime.Gosched() // wasm does not preempt goroutines
			}
			s := k.Snapshot(g)
			for i, e := range s.Edges {
				if e.From != i || e.To != i+1 {
					k.Fatalf("edge %d is %+v in a chain", i, e)
				}
			}
			if len(s.Nodes) > 0 && len(s.Edges) != len(s.Nodes)-1 {
				k.Fatalf("a chain of %d nodes and %d edges", len(s.Nodes), len(s.Edges))
			}
		}
	})
}

func TestSnapshotsOfNothingFail(t *testing.T) {
	each(t, func(k *kit) {
		g, err := graph.New(k.C)
		k.OK(err)
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(x.Close())
		k.OK(g.Close())
		for _, c := range []struct {
			of interface {
				Snapshot() (*graph.Snapshot, error)
			}
			want error
		}{
			{(*graph.Graph)(nil), driver.CUDA_ERROR_INVALID_VALUE}, {g, driver.ErrClosed},
			{(*graph.Exec)(nil), driver.CUDA_ERROR_INVALID_VALUE}, {new(graph.Exec), driver.CUDA_ERROR_INVALID_VALUE}, {x, driver.ErrClosed},
		} {
			if s, err := c.of.Snapshot(); s != nil || !errors.Is(err, c.want) {
				k.Errorf("%v: got %v, %v", c.of, s, err)
			}
		}
		for n := range (*graph.Snapshot)(nil).All() {
			k.Errorf("nil has %v", n)
		}
	})
}

// timeOf returns the snapshot of node n in a profile, or an empty one if the profile does not
// contain n.
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
	p, err := g.Profile(background, k.S, opts...)
	k.OK(err)
	return p
}

func TestProfileMeasuresEachNode(t *testing.T) {
	each(t, func(k *kit) {
		s := graphtest.NewScene(k.Kit)
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
		b := k.Memory()
		g := k.Graph()
		k.Add(g, k.Launch(k.Plus, b, 1))
		if p := k.profile(g, graph.WithRounds(3)); p.Profile.Rounds != 3 {
			k.Errorf("%d rounds", p.Profile.Rounds)
		}
		k.Expect(b, 1+2*(3+1))
	})
}

func TestProfileOneByOne(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		for range 6 {
			k.Add(g, k.Launch(k.Plus, k.Memory(), 1))
		}
		p := k.profile(g, graph.WithRounds(1), graph.WithOneByOne())
		slices.SortFunc(p.Nodes, func(a, b graph.SnapshotNode) int { return cmp.Compare(a.Start, b.Start) })
		for i, n := range p.Nodes[1:] {
			if end := p.Nodes[i].Start + p.Nodes[i].Time; n.Start+time.Microsecond < end {
				k.Errorf("node %s began at %v, before node %s ended at %v", n.ID, n.Start, p.Nodes[i].ID, end)
			}
		}
	})
}

func TestProfileLeavesTheGraphAsItWas(t *testing.T) {
	each(t, func(k *kit) {
		s := graphtest.NewScene(k.Kit)
		x := k.Exec(s.G)
		before := k.Snapshot(s.G)
		k.profile(s.G)
		if after := k.Snapshot(s.G); !reflect.DeepEqual(after, before) {
			k.Errorf("%+v, before %+v", after, before)
		}
		r, err := x.Update(s.G)
		k.OK(err)
		if !r.Updated() {
			k.Errorf("an exec from before: %v", r)
		}
		k.Run(x)
		n, err := s.G.AddEmpty(s.End)
		k.OK(err)
		if n.String() != "node 6" {
			k.Errorf("the next node is %v", n)
		}
	})
}

func TestProfileOfAConditionalMeasuresTheWhole(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 1))
		n, body, err := g.AddIf(k.Cond(g, graph.WithDefault(1)), first)
		k.OK(err)
		in := k.Add(body, k.Launch(k.Plus, b, 1))
		p := k.profile(g, graph.WithRounds(1))
		if !timeOf(p, n).Timed {
			k.Errorf("%v was not measured", n)
		}
		if inside := timeOf(p, in); inside.ID != "1.0.0" || inside.Timed {
			k.Errorf("a node in a body: %+v", inside)
		}
		k.Expect(b, 1+2*2*2)
		k.profile(g) // would fail if the first profile had left an Exec open
	})
}

func TestProfileOfAnEmptyGraph(t *testing.T) {
	each(t, func(k *kit) {
		p := k.profile(k.Graph())
		if len(p.Nodes) != 0 || p.Profile.Run <= 0 {
			k.Errorf("%+v", p)
		}
	})
}

// Profiling must work on older drivers, although it uses functions that changed between CUDA
// versions.
func TestProfileOnOlderDrivers(t *testing.T) {
	for _, version := range []int{11040, 12000, 12020, 12030, 12080} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				s := graphtest.NewScene(k.Kit)
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
		g := k.Graph()
		var n cu.CUgraphNode
		var p cu.CUDA_MEM_ALLOC_NODE_PARAMS
		p.PoolProps.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
		p.PoolProps.Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
		p.Bytesize = 64
		k.OK(k.C.Driver().CuGraphAddMemAllocNode(&n, g.Raw(), nil, 0, &p))
		k.OK(k.C.Driver().CuGraphAddMemFreeNode(new(cu.CUgraphNode), g.Raw(), &n, 1, p.Dptr))
		_, err := g.Profile(background, k.S)
		if !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) || !strings.Contains(err.Error(), "allocation") {
			k.Errorf("got %v", err)
		}
		if s := k.Snapshot(g); s.Nodes[0].Kind != "allocation" || s.Nodes[0].Params != "64 bytes" || s.Nodes[1].Kind != "free" {
			k.Errorf("%+v", s)
		}
	})
}

func TestProfileRefusesBadInput(t *testing.T) {
	each(t, func(k *kit) {
		s := graphtest.NewScene(k.Kit)
		before := k.Snapshot(s.G)
		child, err := s.Nest.ChildGraph()
		k.OK(err)
		closed, err := graph.New(k.C)
		k.OK(err)
		k.OK(closed.Close())
		gone := k.Stream()
		k.OK(gone.Close())
		over, cancel := context.WithCancel(background)
		cancel()
		cases := []struct {
			name string
			want error
			err  func() error
		}{
			{"nil graph", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := (*graph.Graph)(nil).Profile(background, k.S); return err }},
			{"closed graph", driver.ErrClosed, func() error { _, err := closed.Profile(background, k.S); return err }},
			{"nil stream", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := s.G.Profile(background, nil); return err }},
			{"closed stream", driver.ErrClosed, func() error { _, err := s.G.Profile(background, gone); return err }},
			{"no rounds", driver.CUDA_ERROR_INVALID_VALUE, func() error {
				_, err := s.G.Profile(background, k.S, graph.WithRounds(0))
				return err
			}},
			{"graph in a node", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := child.Profile(background, k.S); return err }},
			{"cancelled", context.Canceled, func() error { _, err := s.G.Profile(over, k.S); return err }},
		}
		for _, c := range cases {
			if err := c.err(); !errors.Is(err, c.want) {
				k.Errorf("%s: got %v, want %v", c.name, err, c.want)
			}
		}
		inflight.Waiting.Wait()
		k.Usable(k.S)
		if after := k.Snapshot(s.G); !reflect.DeepEqual(after, before) {
			k.Errorf("%+v, before %+v", after, before)
		}
	})
}

// A capturing stream must still be capturing after Profile rejects it.
func TestProfileRefusesACapturingStream(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		l := k.Launch(k.Plus, b, 1)
		k.Add(g, l)
		captured := k.Capture(func(sc *graph.Scope) error {
			if _, err := g.Profile(background, k.S); !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Errorf("got %v", err)
			}
			return sc.Do(l)
		})
		k.Run(k.Exec(captured))
		k.Expect(b, 2)
	})
}
