package view_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/view"
	"github.com/purecuda/cuda/internal/gputest"
)

// writeGolden is the environment variable that makes tests write the files in testdata instead of
// comparing drawings with them.
const writeGolden = "PURECUDA_WRITE_GOLDEN"

// golden compares a drawing with the file of that name in testdata.
func (k *kit) golden(name, got string) {
	k.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv(writeGolden) != "" {
		k.OK(os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	k.OK(err)
	if w := strings.ReplaceAll(string(want), "\r\n", "\n"); got != w {
		k.Errorf("%s is\n%s\nwant\n%s", name, got, w)
	}
}

// timed returns a snapshot of the scene with a time for each node. Of the two branches, the left
// takes longer.
func (k *kit) timed(s *graphtest.Scene) *graph.Snapshot {
	k.Helper()
	times := map[graph.Node]time.Duration{
		s.Fill: 2 * time.Microsecond, s.Left: 9340 * time.Nanosecond, s.Right: 3 * time.Microsecond,
		s.Join: time.Microsecond, s.Nest: 12 * time.Microsecond, s.End: 0,
	}
	p := k.snapshot(s.G)
	p.Profile = &graph.Profile{Rounds: 3, Run: 40 * time.Microsecond, Measured: 60 * time.Microsecond, Overhead: 1500 * time.Nanosecond}
	for _, in := range p.Nodes[4].Graphs {
		for i := range in.Nodes {
			times[in.Nodes[i].Node] = 5 * time.Microsecond
		}
	}
	for n := range p.All() {
		if n.Time, n.Timed = times[n.Node]; n.Timed {
			n.Start = 2 * n.Time
		}
	}
	return p
}

func (k *kit) text(write func(io.Writer, *graph.Snapshot, ...view.Option) error, s *graph.Snapshot, opts ...view.Option) string {
	k.Helper()
	b := &strings.Builder{}
	k.OK(write(b, s, opts...))
	return b.String()
}

func TestDrawingsAreTheSameEachTime(t *testing.T) {
	each(t, func(k *kit) {
		s := graphtest.NewScene(k.Kit)
		k.golden("scene.dot", k.text(view.WriteDOT, k.snapshot(s.G)))
		k.golden("scene.mmd", k.text(view.WriteMermaid, k.snapshot(s.G)))
		k.golden("scene.txt", k.text(view.WriteTable, k.snapshot(s.G)))
	})
}

func TestDrawingsWithDetailsAndTimes(t *testing.T) {
	each(t, func(k *kit) {
		p := k.timed(graphtest.NewScene(k.Kit))
		opts := []view.Option{view.Titled(`a "step"`), view.Detailed()}
		k.golden("scene-timed.dot", k.text(view.WriteDOT, p, opts...))
		k.golden("scene-timed.mmd", k.text(view.WriteMermaid, p, opts...))
		k.golden("scene-timed.txt", k.text(view.WriteTable, p, opts...))
	})
}

func TestDrawingsOfAnEmptyGraph(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		k.golden("empty.dot", k.text(view.WriteDOT, k.snapshot(g)))
		k.golden("empty.mmd", k.text(view.WriteMermaid, k.snapshot(g)))
		k.golden("empty.txt", k.text(view.WriteTable, k.snapshot(g)))
	})
}

// The driver must supply the kernel names of a capture, because package graph did not see the
// operations.
func TestDrawingOfACapturedGraphNamesKernels(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		plus, times := k.Launch(k.Plus, b, 1), k.Launch(k.Times, b, 2)
		g := k.Capture(func(sc *graph.Scope) error { return errors.Join(sc.Do(plus), sc.Do(times)) })
		k.golden("captured.txt", k.text(view.WriteTable, k.snapshot(g)))
	})
}

func TestDrawingShowsBodiesOfConditionals(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 1))
		_, body, err := g.AddIf(k.Cond(g, graph.WithDefault(1)), first)
		k.OK(err)
		k.Add(body, k.Launch(k.Times, b, 2))
		k.golden("conditional.dot", k.text(view.WriteDOT, k.snapshot(g)))
		k.golden("conditional.mmd", k.text(view.WriteMermaid, k.snapshot(g)))
	})
}

// Drawings must show the kind of each conditional node, whether recorded or added directly, and
// label the bodies if a node has two.
func TestDrawingTellsKindsOfConditionals(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		l := k.Launch(k.Plus, b, 1)
		g := k.Capture(func(sc *graph.Scope) error {
			var conds [3]graph.Cond
			for i := range conds {
				c, err := sc.NewCond(graph.WithDefault(0))
				k.OK(err)
				conds[i] = c
			}
			return errors.Join(sc.While(conds[0], graphtest.Does(l)), sc.IfElse(conds[1], graphtest.Does(l), graphtest.Does(l)), sc.Switch(conds[2], graphtest.Does(l), graphtest.Does(l), nil))
		})
		n, _, err := g.AddIf(k.Cond(g, graph.WithDefault(0)))
		k.OK(err)
		if label := n.Label(); label != "IF" {
			k.Errorf("an IF node is called %q", label)
		}
		k.OK(n.SetName("maybe"))
		k.golden("conditionals.txt", k.text(view.WriteTable, k.snapshot(g)))
		k.golden("conditionals.dot", k.text(view.WriteDOT, k.snapshot(g)))
		k.golden("conditionals.mmd", k.text(view.WriteMermaid, k.snapshot(g), view.Detailed()))
	})
}

func TestDrawingMarksNodesThatAreOff(t *testing.T) {
	each(t, func(k *kit) {
		s := graphtest.NewScene(k.Kit)
		x := k.Exec(s.G)
		k.OK(x.Enable(s.Left, false))
		text := k.text(view.WriteDOT, k.snapshot(x))
		if strings.Count(text, "off") != 1 || !strings.Contains(text, `"1: plus\nkernel\noff"`) {
			k.Errorf("drawn as\n%s", text)
		}
		text = k.text(view.WriteTable, k.snapshot(x))
		if strings.Count(text, "grid 1 block 32 (off)") != 1 {
			k.Errorf("table\n%s", text)
		}
	})
}

func TestDrawingShowsProgrammaticEdges(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		l := k.Launch(k.Plus, b, 1)
		first, second := k.Add(g, l), k.Add(g, l)
		from, to := first.Raw(), second.Raw()
		data := cu.CUgraphEdgeData{From_port: cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, Type: byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)}
		k.OK(k.C.Driver().CuGraphAddDependencies(g.Raw(), &from, &to, &data, 1))
		text := k.text(view.WriteDOT, k.snapshot(g))
		if !strings.Contains(text, `n0 -> n1 [style=dashed, label="programmatic"]`) {
			k.Errorf("drawn as\n%s", text)
		}
		text = k.text(view.WriteMermaid, k.snapshot(g))
		if !strings.Contains(text, "n0 -. programmatic .-> n1") {
			k.Errorf("drawn as\n%s", text)
		}
	})
}

// A destroyed node must not be drawn, and the other nodes must keep their numbers.
func TestDrawingKeepsNumbers(t *testing.T) {
	each(t, func(k *kit) {
		s := graphtest.NewScene(k.Kit)
		k.OK(s.Right.Destroy())
		text := k.text(view.WriteDOT, k.snapshot(s.G))
		if strings.Contains(text, "n2 ") || !strings.Contains(text, "n1 -> n3") || !strings.Contains(text, "n5 ") {
			k.Errorf("drawn as\n%s", text)
		}
	})
}

// Before CUDA 12.3 the driver does not report kernel names. Drawings must still name kernels that
// were added directly.
func TestDrawingOnADriverThatTellsNoNames(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12020}, func(t *testing.T, c *driver.Context) {
		k := &kit{graphtest.NewKit(t, c)}
		s := graphtest.NewScene(k.Kit)
		text := k.text(view.WriteDOT, k.snapshot(s.G), view.Detailed())
		if !strings.Contains(text, `label="1: plus\nkernel\ngrid 1 block 32"`) {
			t.Errorf("drawn as\n%s", text)
		}
	})
}

func TestSummaryInFigures(t *testing.T) {
	each(t, func(k *kit) {
		got := view.Summarize(k.snapshot(graphtest.NewScene(k.Kit).G))
		if got.Nodes != 6 || got.Edges != 6 || got.Roots != 1 || got.Leaves != 1 || got.Depth != 5 || got.Width != 2 || got.Inside != 3 {
			k.Errorf("%+v", got)
		}
		want := map[string]int{"kernel": 4, "child graph": 2, "fill": 1, "copy": 1, "empty": 1}
		if !maps.Equal(got.Kinds, want) {
			k.Errorf("kinds %v, want %v", got.Kinds, want)
		}
	})
}

// The critical path must go through the slower of two branches.
func TestCriticalPathOfAProfile(t *testing.T) {
	each(t, func(k *kit) {
		const pause = 5 * time.Millisecond
		b := k.Memory()
		slow, err := driver.NewHostFunc(k.C, func() { time.Sleep(pause) })
		k.OK(err)
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 1))
		fast := k.Add(g, k.Launch(k.Plus, b, 1), first)
		long := k.Add(g, slow, first)
		last := k.Add(g, k.Launch(k.Plus, b, 1), fast, long)
		p, err := g.Profile(context.Background(), k.S, graph.WithOneByOne())
		k.OK(err)
		path, total := view.CriticalPath(p)
		var nodes []graph.Node
		for _, n := range path {
			nodes = append(nodes, n.Node)
		}
		want := []graph.Node{first, long, last}
		if p.Nodes[1].Time > p.Nodes[2].Time { // the machine was busy
			want[1] = fast
		}
		if !slices.Equal(nodes, want) {
			k.Fatalf("critical path %v, want %v", nodes, want)
		}
		if took := p.Nodes[2].Time + p.Profile.Overhead; took < pause*9/10 || total < path[1].Time || p.Profile.Run < pause*9/10 {
			k.Errorf("%v of %v in a run of %v", took, total, p.Profile.Run)
		}
		if p, err = g.Profile(context.Background(), k.S); err != nil || p.Nodes[2].Time+p.Profile.Overhead < pause*9/10 {
			k.Errorf("side by side %v, %v", p, err)
		}
		text := k.text(view.WriteTable, p)
		k.Logf("%s", text)
		if !strings.Contains(text, "runs in ") || !strings.Contains(text, "  *\n") {
			k.Errorf("no times in\n%s", text)
		}
	})
}

// The path ends at a leaf even if the last nodes took no time.
func TestCriticalPathEndsAtALeaf(t *testing.T) {
	chain := func(times ...time.Duration) *graph.Snapshot {
		s := &graph.Snapshot{Nodes: make([]graph.SnapshotNode, len(times))}
		for i, took := range times {
			s.Nodes[i].Time = took
			if i > 0 {
				s.Edges = append(s.Edges, graph.SnapshotEdge{From: i - 1, To: i})
			}
		}
		return s
	}
	for _, times := range [][]time.Duration{{0, 0, 0}, {3, 0, 0}, {0, 3, 0}, {0, 0, 3}} {
		s := chain(times...)
		path, total := view.CriticalPath(s)
		if len(path) != 3 || path[0] != &s.Nodes[0] || path[2] != &s.Nodes[2] {
			t.Errorf("the path of times %v has %d nodes", times, len(path))
		}
		if want := max(times[0], times[1], times[2]); total != want {
			t.Errorf("the path of times %v takes %v, want %v", times, total, want)
		}
	}
}

// The nodes in the bodies of a conditional node are not measured individually, so they must be
// drawn without times.
func TestDrawingOfNodesThatWereNotMeasured(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		_, body, err := g.AddIf(k.Cond(g, graph.WithDefault(1)))
		k.OK(err)
		k.Add(body, k.Launch(k.Plus, k.Memory(), 1))
		p, err := g.Profile(context.Background(), k.S, graph.WithRounds(1))
		k.OK(err)
		if text := k.text(view.WriteMermaid, p); !strings.Contains(text, "n0_0_0[\"0.0.0: plus<br/>kernel\"]") || !strings.Contains(text, "IF<br/>") {
			k.Errorf("drawn as\n%s", text)
		}
	})
}

func TestViewsOfNoSnapshot(t *testing.T) {
	b := &strings.Builder{}
	for _, err := range []error{view.WriteDOT(b, nil), view.WriteMermaid(b, nil), view.WriteTable(b, nil)} {
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || b.Len() > 0 {
			t.Errorf("got %v and %q", err, b)
		}
	}
	path, total := view.CriticalPath(nil)
	if s := view.Summarize(nil); s.Nodes != 0 || len(s.Kinds) != 0 || len(path) != 0 || total != 0 {
		t.Errorf("%v, %v, %v", s, path, total)
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestDrawingsReportTheWriter(t *testing.T) {
	s := &graph.Snapshot{}
	for _, err := range []error{view.WriteDOT(full{}, s), view.WriteMermaid(full{}, s), view.WriteTable(full{}, s)} {
		if !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	}
}
