package graph_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// writeGolden is the environment variable with which the files in testdata are
// written instead of compared.
const writeGolden = "PURECUDA_WRITE_GOLDEN"

// golden compares a drawing with the file of that name.
func (k *kit) golden(name, got string) {
	k.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv(writeGolden) != "" {
		k.ok(os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	k.ok(err)
	if w := strings.ReplaceAll(string(want), "\r\n", "\n"); got != w {
		k.Errorf("%s is\n%s\nwant\n%s", name, got, w)
	}
}

// scene is a graph with most kinds of nodes: a fork and a join, names, and a
// graph in a node in a graph in a node.
type scene struct {
	*kit
	g                                  *graph.Graph
	fill, left, right, join, nest, end graph.Node
}

func newScene(k *kit) *scene {
	k.Helper()
	a, b := k.memory(), k.memory()
	s := &scene{kit: k, g: k.graph()}
	fill, err := driver.Fill[uint32](a, 4)
	k.ok(err)
	s.fill = k.add(s.g, fill)
	s.left = k.add(s.g, k.launch(k.plus, a, 1), s.fill)
	s.right = k.add(s.g, k.launch(k.times, b, 2), s.fill)
	k.ok(s.right.SetName(`the "other" \ half`))
	copyOp, err := driver.CopyDevice[uint32](a, b)
	k.ok(err)
	s.join = k.add(s.g, copyOp, s.left, s.right)
	s.nest, err = s.g.AddChild(s.nested(b), s.join)
	k.ok(err)
	s.end, err = s.g.AddEmpty(s.nest)
	k.ok(err)
	k.ok(s.end.SetName("end"))
	return s
}

// nested is a graph that has another in a node.
func (s *scene) nested(b driver.Memory) *graph.Graph {
	s.Helper()
	inner, outer := s.graph(), s.graph()
	s.add(inner, s.launch(s.plus, b, 3))
	first := s.add(outer, s.launch(s.times, b, 3))
	_, err := outer.AddChild(inner, first)
	s.ok(err)
	return outer
}

// profile gives the nodes of the scene times; the left half takes longer.
func (s *scene) profile() *graph.Profile {
	s.Helper()
	inside, err := s.nest.ChildGraph()
	s.ok(err)
	times := map[graph.Node]time.Duration{
		s.fill: 2 * time.Microsecond, s.left: 9340 * time.Nanosecond, s.right: 3 * time.Microsecond,
		s.join: time.Microsecond, s.nest: 12 * time.Microsecond, s.end: 0,
	}
	for n, err := range inside.Nodes() {
		s.ok(err)
		times[n] = 5 * time.Microsecond
	}
	p, err := graph.FixedProfile(s.g, times)
	s.ok(err)
	return p
}

// text draws to a string.
func (k *kit) text(write func(b *strings.Builder) error) string {
	k.Helper()
	b := &strings.Builder{}
	k.ok(write(b))
	return b.String()
}

func TestDrawingsAreTheSameEachTime(t *testing.T) {
	each(t, func(k *kit) {
		s := newScene(k)
		k.golden("scene.dot", k.text(func(b *strings.Builder) error { return s.g.WriteDOT(b) }))
		k.golden("scene.mmd", k.text(func(b *strings.Builder) error { return s.g.WriteMermaid(b) }))
		k.golden("scene.txt", k.text(func(b *strings.Builder) error { return s.g.WriteSummary(b) }))
	})
}

func TestDrawingsWithDetailsAndTimes(t *testing.T) {
	each(t, func(k *kit) {
		s := newScene(k)
		opts := []graph.DrawOption{graph.Titled(`a "step"`), graph.Detailed(), graph.Timed(s.profile())}
		k.golden("scene-timed.dot", k.text(func(b *strings.Builder) error { return s.g.WriteDOT(b, opts...) }))
		k.golden("scene-timed.mmd", k.text(func(b *strings.Builder) error { return s.g.WriteMermaid(b, opts...) }))
		k.golden("scene-timed.txt", k.text(func(b *strings.Builder) error { return s.g.WriteSummary(b, opts...) }))
	})
}

func TestDrawingsOfAnEmptyGraph(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		k.golden("empty.dot", k.text(func(b *strings.Builder) error { return g.WriteDOT(b) }))
		k.golden("empty.mmd", k.text(func(b *strings.Builder) error { return g.WriteMermaid(b) }))
		k.golden("empty.txt", k.text(func(b *strings.Builder) error { return g.WriteSummary(b) }))
	})
}

// What a capture recorded is named by the driver: this package saw no operation.
func TestDrawingOfACapturedGraphNamesKernels(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		plus, times := k.launch(k.plus, b, 1), k.launch(k.times, b, 2)
		g := k.capture(func(sc *graph.Scope) error { return errors.Join(sc.Do(plus), sc.Do(times)) })
		k.golden("captured.txt", k.text(func(b *strings.Builder) error { return g.WriteSummary(b) }))
	})
}

func TestDrawingShowsBodiesOfConditionals(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 1))
		_, body, err := g.AddIf(k.cond(g, graph.WithDefault(1)), first)
		k.ok(err)
		k.add(body, k.launch(k.times, b, 2))
		k.golden("conditional.dot", k.text(func(b *strings.Builder) error { return g.WriteDOT(b) }))
		k.golden("conditional.mmd", k.text(func(b *strings.Builder) error { return g.WriteMermaid(b) }))
	})
}

// The kinds of conditional nodes look different, recorded and by hand, and the
// bodies of one that has two say which is which.
func TestDrawingTellsKindsOfConditionals(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		l := k.launch(k.plus, b, 1)
		g := k.capture(func(sc *graph.Scope) error {
			var conds [3]graph.Cond
			for i := range conds {
				c, err := sc.NewCond(graph.WithDefault(0))
				k.ok(err)
				conds[i] = c
			}
			return errors.Join(sc.While(conds[0], does(l)), sc.IfElse(conds[1], does(l), does(l)), sc.Switch(conds[2], does(l), does(l), nil))
		})
		n, _, err := g.AddIf(k.cond(g, graph.WithDefault(0)))
		k.ok(err)
		if label := n.Label(); label != "IF" {
			k.Errorf("an IF node is called %q", label)
		}
		k.ok(n.SetName("maybe"))
		k.golden("conditionals.txt", k.text(func(b *strings.Builder) error { return g.WriteSummary(b) }))
		k.golden("conditionals.dot", k.text(func(b *strings.Builder) error { return g.WriteDOT(b) }))
		k.golden("conditionals.mmd", k.text(func(b *strings.Builder) error { return g.WriteMermaid(b, graph.Detailed()) }))
	})
}

func TestDrawingMarksNodesThatAreOff(t *testing.T) {
	each(t, func(k *kit) {
		s := newScene(k)
		x := k.exec(s.g)
		k.ok(x.Enable(s.left, false))
		text := k.text(func(b *strings.Builder) error { return s.g.WriteDOT(b, graph.OffIn(x)) })
		if strings.Count(text, "off") != 1 || !strings.Contains(text, `"1: plus\nkernel\noff"`) {
			k.Errorf("drawn as\n%s", text)
		}
		text = k.text(func(b *strings.Builder) error { return s.g.WriteSummary(b, graph.OffIn(x)) })
		if strings.Count(text, "grid 1 block 32 (off)") != 1 {
			k.Errorf("summary\n%s", text)
		}
		other := k.graph()
		for _, x := range []*graph.Exec{nil, x} {
			if err := other.WriteDOT(io.Discard, graph.OffIn(x)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%v, which is of another graph: %v", x, err)
			}
		}
	})
}

// Edges that do not wait for the end of a kernel look different.
func TestDrawingShowsProgrammaticEdges(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 1)
		first, second := k.add(g, l), k.add(g, l)
		from, to := first.Raw(), second.Raw()
		data := cu.CUgraphEdgeData{From_port: cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, Type: byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)}
		k.ok(k.c.Driver().CuGraphAddDependencies(g.Raw(), &from, &to, &data, 1))
		text := k.text(func(b *strings.Builder) error { return g.WriteDOT(b) })
		if !strings.Contains(text, `n0 -> n1 [style=dashed, label="programmatic"]`) {
			k.Errorf("drawn as\n%s", text)
		}
		text = k.text(func(b *strings.Builder) error { return g.WriteMermaid(b) })
		if !strings.Contains(text, "n0 -. programmatic .-> n1") {
			k.Errorf("drawn as\n%s", text)
		}
	})
}

// A drawing shows the graph as it was at one moment, whatever others do.
func TestDrawingWhileTheGraphChanges(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 1)
		added := make(chan error, 1)
		go func() {
			var err error
			for n, prev := 0, []graph.Node(nil); n < 200 && err == nil; n++ {
				var node graph.Node
				node, err = g.Add(l, prev...)
				prev = []graph.Node{node}
			}
			added <- err
		}()
		for range 50 {
			s, err := g.Summary()
			k.ok(err)
			if s.Nodes > 0 && (s.Edges != s.Nodes-1 || s.Depth != s.Nodes) {
				k.Errorf("a chain of %+v", s)
			}
		}
		k.ok(<-added)
	})
}

// A node that was destroyed is drawn no more, and the others keep their numbers.
func TestDrawingKeepsNumbers(t *testing.T) {
	each(t, func(k *kit) {
		s := newScene(k)
		k.ok(s.right.Destroy())
		text := k.text(func(b *strings.Builder) error { return s.g.WriteDOT(b) })
		if strings.Contains(text, "n2 ") || !strings.Contains(text, "n1 -> n3") || !strings.Contains(text, "n5 ") {
			k.Errorf("drawn as\n%s", text)
		}
	})
}

// Before CUDA 12.3 the driver tells no names: those of kernels that were added
// are known all the same.
func TestDrawingOnADriverThatTellsNoNames(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12020}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		s := newScene(k)
		text := k.text(func(b *strings.Builder) error { return s.g.WriteDOT(b, graph.Detailed()) })
		if !strings.Contains(text, `label="1: plus\nkernel\ngrid 1 block 32"`) {
			t.Errorf("drawn as\n%s", text)
		}
	})
}

func TestSummaryInFigures(t *testing.T) {
	each(t, func(k *kit) {
		s := newScene(k)
		got, err := s.g.Summary()
		k.ok(err)
		if got.Nodes != 6 || got.Edges != 6 || got.Roots != 1 || got.Leaves != 1 || got.Depth != 5 || got.Width != 2 || got.Inside != 3 {
			k.Errorf("%+v", got)
		}
		if got.Types[cu.CU_GRAPH_NODE_TYPE_KERNEL] != 4 || got.Types[cu.CU_GRAPH_NODE_TYPE_GRAPH] != 2 {
			k.Errorf("types %v", got.Types)
		}
	})
}

func TestDrawingsOfNoGraphFail(t *testing.T) {
	each(t, func(k *kit) {
		closed, err := graph.New(k.c)
		k.ok(err)
		k.ok(closed.Close())
		for g, want := range map[*graph.Graph]error{nil: driver.CUDA_ERROR_INVALID_VALUE, closed: driver.ErrClosed} {
			_, err := g.Summary()
			b := &strings.Builder{}
			for _, err := range []error{err, g.WriteDOT(b), g.WriteMermaid(b), g.WriteSummary(b)} {
				if !errors.Is(err, want) || b.Len() > 0 {
					k.Errorf("%v: got %v and %q", g, err, b)
				}
			}
		}
	})
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestDrawingsReportTheWriter(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		for _, err := range []error{g.WriteDOT(full{}), g.WriteMermaid(full{}), g.WriteSummary(full{})} {
			if !errors.Is(err, errFull) {
				k.Errorf("got %v", err)
			}
		}
	})
}
