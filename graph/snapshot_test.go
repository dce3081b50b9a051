package graph_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

func TestSnapshotIsPlainData(t *testing.T) {
	each(t, func(k *kit) {
		s := k.scene()
		p := k.snapshot(s.G)
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
		for n := range p.All() { // a loop may end early, inside too
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
		g := k.graph()
		_, _, _, err := g.AddIfElse(k.cond(g))
		k.ok(err)
		_, _, err = g.AddWhile(k.cond(g))
		k.ok(err)
		_, _, err = g.AddSwitch(k.cond(g), 3)
		k.ok(err)
		var got []string
		for n := range k.snapshot(g).All() {
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
		s := k.scene()
		x := k.exec(s.G)
		k.ok(x.Enable(s.Left, false))
		p, err := x.Snapshot()
		k.ok(err)
		for n := range p.All() {
			if n.Off != (n.Node == s.Left) {
				k.Errorf("node %s is off: %v", n.ID, n.Off)
			}
		}
	})
}

// A snapshot shows the graph as it was at one moment, whatever others do.
func TestSnapshotWhileTheGraphChanges(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 1)
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
				k.ok(err)
				running = false
			default:
				runtime.Gosched() // wasm interrupts no goroutine
			}
			s := k.snapshot(g)
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
		g, err := graph.New(k.c)
		k.ok(err)
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(x.Close())
		k.ok(g.Close())
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
