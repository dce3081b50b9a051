package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// The kernel first adds 1 to p[i] and allows dependent kernels to start early. The kernel second
// waits for it with griddepcontrol.wait, as a programmatic dependency requires, and multiplies p[i]
// by 10.
const dependentKernels = `
.version 7.8
.target sm_90
.address_size 64

.visible .entry first(.param .u64 p)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd3, %rd1, %rd2;
	griddepcontrol.launch_dependents;
	ld.global.u32 %r2, [%rd3];
	add.u32 %r2, %r2, 1;
	st.global.u32 [%rd3], %r2;
	ret;
}

.visible .entry second(.param .u64 p)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd3, %rd1, %rd2;
	griddepcontrol.wait;
	ld.global.u32 %r2, [%rd3];
	mul.lo.u32 %r2, %r2, 10;
	st.global.u32 [%rd3], %r2;
	ret;
}
`

func (k *kit) dependents(b *driver.Buffer[uint32]) (first, second *driver.Launch) {
	k.Helper()
	m, err := k.C.LoadModule([]byte(dependentKernels))
	k.OK(err)
	k.CloseLater(m)
	for name, to := range map[string]**driver.Launch{"first": &first, "second": &second} {
		f, err := m.Kernel(name)
		k.OK(err)
		*to, err = f.Prepare(config, b)
		k.OK(err)
	}
	return first, second
}

func TestProgrammaticDependencies(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		first, second := k.dependents(b)
		for _, port := range []byte{cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, cu.CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER} {
			k.OK(b.Fill(1))
			g := k.Graph()
			n := k.Add(g, first)
			dep := graph.Programmatic(n, graph.Node{}, port)
			m, err := graphtest.AddAfter(g, second, dep)
			k.OK(err)
			in, err := m.Incoming()
			k.OK(err)
			out, err := n.Outgoing()
			k.OK(err)
			want := []graph.Edge{{From: n, To: m, Data: dep.Data}}
			if !slices.Equal(in, want) || !slices.Equal(out, want) {
				k.Errorf("edges %v and %v, want %v", in, out, want)
			}
			k.Run(k.Exec(g))
			k.Expect(b, 20)
		}
	})
}

func TestEdgesWithDataAreAddedAndRemoved(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		first, second := k.dependents(b)
		g := k.Graph()
		n, m := k.Add(g, first), k.Add(g, second)
		last, err := graphtest.AddAfter(g, k.Launch(k.Plus, b, 3), graph.Edge{From: m}) // edge without data
		k.OK(err)
		e := graph.Edge{From: n, To: m, Data: graph.Programmatic(n, graph.Node{}).Data}
		plain := graph.Edge{From: n, To: last}
		k.OK(g.AddEdges(e, plain))
		k.Run(k.Exec(g))
		k.Expect(b, 23)
		if err := g.RemoveEdges(graph.Edge{From: n, To: m}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("an edge without its data: %v", err)
		}
		k.OK(g.RemoveEdges(e, plain))
		in, err := m.Incoming()
		k.OK(err)
		out, err := n.Outgoing()
		k.OK(err)
		if len(in)+len(out) != 0 {
			k.Errorf("edges left: %v, %v", in, out)
		}
		k.OK(g.AddEdges())
		k.OK(g.AddEdges(plain, graph.Edge{From: n, To: m}))
		k.Run(k.Exec(g))
		k.Expect(b, 243)
	})
}

func TestEdgeDataThatCannotBe(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		first, _ := k.dependents(b)
		fill, err := driver.Fill[uint32](b, 4)
		k.OK(err)
		g, other := k.Graph(), k.Graph()
		n, f := k.Add(g, first), k.Add(g, fill)
		foreign := k.Add(other, first)
		programmatic := graph.Programmatic(n, graph.Node{}).Data
		for name, err := range map[string]error{
			"from a fill":            graphtest.Second(graphtest.AddAfter(g, first, graph.Programmatic(f, graph.Node{}))),
			"to a fill":              graphtest.Second(graphtest.AddAfter(g, fill, graph.Programmatic(n, graph.Node{}))),
			"port 0":                 graphtest.Second(graphtest.AddAfter(g, first, graph.Programmatic(n, graph.Node{}, 0))),
			"port 9":                 graphtest.Second(graphtest.AddAfter(g, first, graph.Programmatic(n, graph.Node{}, 9))),
			"node of another graph":  graphtest.Second(graphtest.AddAfter(g, first, graph.Programmatic(foreign, graph.Node{}))),
			"zero node":              graphtest.Second(graphtest.AddAfter(g, first, graph.Edge{})),
			"edge to a fill":         g.AddEdges(graph.Edge{From: n, To: f, Data: programmatic}),
			"edge to itself":         g.AddEdges(graph.Edge{From: n, To: n, Data: programmatic}),
			"edge of another graph":  g.AddEdges(graph.Edge{From: foreign, To: n}),
			"edge there is not":      g.RemoveEdges(graph.Edge{From: f, To: n}),
			"edge data there is not": g.RemoveEdges(graph.Edge{From: f, To: n, Data: programmatic}),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%s: %v", name, err)
			}
		}
		if count, err := g.Len(); count != 2 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
	})
}

func TestEveryOperationIsAddedAfterOthers(t *testing.T) {
	each(t, func(k *kit) {
		b, to := k.Memory(), k.Memory()
		e, err := k.C.NewEvent()
		k.OK(err)
		k.CloseLater(e)
		called := 0
		call, err := driver.NewHostFunc(k.C, func() { called++ })
		k.OK(err)
		fill, err := driver.Fill(b.All().View(0, 8), 4)
		k.OK(err)
		nothing, err := driver.Fill(b.All().View(0, 0), 4)
		k.OK(err)
		copied, err := driver.CopyDevice[uint32](to, b)
		k.OK(err)
		write, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](b, 9, 50, 0))
		k.OK(err)
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 1))
		last := graph.Edge{From: first}
		for _, op := range []driver.Op{fill, nothing, write, driver.RecordOp(e), driver.WaitOp(e), call, copied, k.Launch(k.Times, b, 2)} {
			n, err := graphtest.AddAfter(g, op, last)
			k.OK(err)
			last = graph.Edge{From: n}
		}
		_, second := k.dependents(b)
		_, err = graphtest.AddAfter(g, second, graph.Programmatic(last.From, graph.Node{}), graph.Edge{From: first})
		k.OK(err)
		k.Run(k.Exec(g))
		got, moved := make([]uint32, elems), make([]uint32, elems)
		k.OK(b.CopyTo(got))
		k.OK(to.CopyTo(moved))
		if called != 1 || moved[0] != 4 || moved[9] != 50 || moved[31] != 2 || got[0] != 80 || got[31] != 40 {
			k.Errorf("called %d, copied %v, left %v", called, moved, got)
		}
	})
}

func TestEdgeDataNeedsItsCUDA(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12020}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		m, err := graphtest.AddAfter(g, k.Launch(k.Plus, b, 1), graph.Edge{From: n})
		k.OK(err)
		e := graph.Edge{From: n, To: m, Data: graph.Programmatic(n, graph.Node{}).Data}
		for name, err := range map[string]error{
			"AddAfter":    graphtest.Second(graphtest.AddAfter(g, k.Launch(k.Plus, b, 1), graph.Programmatic(n, graph.Node{}))),
			"AddEdges":    g.AddEdges(e),
			"RemoveEdges": g.RemoveEdges(e),
		} {
			if !errors.Is(err, driver.ErrNotSupported) {
				k.Errorf("%s: %v", name, err)
			}
		}
		in, err := m.Incoming()
		k.OK(err)
		if !slices.Equal(in, []graph.Edge{{From: n, To: m}}) {
			k.Errorf("edges %v", in)
		}
		k.OK(g.RemoveEdges(in...))
		k.OK(g.AddEdges(in...))
		k.Run(k.Exec(g))
		k.Expect(b, 3)
	})
}

// Each dependency must keep its own data, even if other dependencies in the same call have
// different data.
func TestDependenciesOfOneCallKeepTheirData(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		first, second := k.dependents(b)
		for _, programmaticFirst := range []bool{true, false} {
			g := k.Graph()
			n, m := k.Add(g, first), k.Add(g, k.Launch(k.Plus, k.Memory(), 1))
			deps := []graph.Edge{graph.Programmatic(n, graph.Node{}), {From: m}}
			if !programmaticFirst {
				deps[0], deps[1] = deps[1], deps[0]
			}
			last, err := graphtest.AddAfter(g, second, deps...)
			k.OK(err)
			in, err := last.Incoming()
			k.OK(err)
			want := map[graph.Node]cu.CUgraphEdgeData{n: graph.Programmatic(n, graph.Node{}).Data, m: {}}
			for _, e := range in {
				if want[e.From] != e.Data {
					k.Errorf("programmatic first %v: edge from %v has %+v", programmaticFirst, e.From, e.Data)
				}
			}
			if len(in) != 2 {
				k.Errorf("%d edges", len(in))
			}
			k.Run(k.Exec(g))
		}
	})
}

func TestCycleIsNamedByItsNodes(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		var nodes []graph.Node
		for _, name := range []string{"before", "load", "scale", "store", "after"} {
			n, err := g.AddEmpty(nodes[max(0, len(nodes)-1):]...)
			k.OK(err)
			k.OK(n.SetName(name))
			nodes = append(nodes, n)
		}
		k.OK(graphtest.DependOn(nodes[1], nodes[3])) // load must run after store
		_, err := g.Instantiate()
		var e *graph.InstantiateError
		if !errors.As(err, &e) {
			k.Fatalf("instantiated: %v", err)
		}
		text := err.Error()
		for _, name := range []string{"cycle", "(load)", "(scale)", "(store)", " → "} {
			if !strings.Contains(text, name) {
				k.Errorf("%v does not say %s", err, name)
			}
		}
		if strings.Contains(text, "(before)") || strings.Contains(text, "(after)") {
			k.Errorf("%v names nodes beside the cycle", err)
		}
		k.OK(g.RemoveEdges(graphtest.EdgesOf(nodes[3:4], nodes[1:2])...))
		k.Run(k.Exec(g))
	})
}

// Like Instantiate, Check must name the nodes of a cycle, even of a cycle in a body.
func TestCheckNamesTheNodesOfACycle(t *testing.T) {
	each(t, func(k *kit) {
		circle := func(g *graph.Graph) {
			var nodes []graph.Node
			for _, name := range []string{"before", "load", "store", "after"} {
				n, err := g.AddEmpty(nodes[max(0, len(nodes)-1):]...)
				k.OK(err)
				k.OK(n.SetName(name))
				nodes = append(nodes, n)
			}
			k.OK(graphtest.DependOn(nodes[1], nodes[2]))
		}
		flat, outer := k.Graph(), k.Graph()
		circle(flat)
		_, body, err := outer.AddIf(k.Cond(outer, graph.WithDefault(1)))
		k.OK(err)
		circle(body)
		for name, g := range map[string]*graph.Graph{"flat": flat, "in a body": outer} {
			_, err := g.Check()
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%s: checked: %v", name, err)
				continue
			}
			for _, want := range []string{"cycle", "(load)", "(store)", " → "} {
				if !strings.Contains(err.Error(), want) {
					k.Errorf("%s: %v does not say %s", name, err, want)
				}
			}
			if strings.Contains(err.Error(), "(before)") || strings.Contains(err.Error(), "(after)") {
				k.Errorf("%s: %v names nodes beside the cycle", name, err)
			}
		}
	})
}

func TestNodeDoesNotRunAfterItself(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		a, err := g.AddEmpty()
		k.OK(err)
		b, err := g.AddEmpty()
		k.OK(err)
		if err := graphtest.DependOn(b, a, b); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "after itself") {
			k.Errorf("got %v", err)
		}
		if err := g.AddEdges(graph.Edge{From: a}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "zero Node") {
			k.Errorf("the zero Node: %v", err)
		}
	})
}
