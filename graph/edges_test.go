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
	"github.com/purecuda/cuda/internal/gputest"
)

// dependent adds b[i] += v once the kernel ahead of it, which it may run beside,
// has ended: griddepcontrol.wait is what a programmatic dependency asks for.
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

// dependents prepares both kernels for one memory.
func (k *kit) dependents(b *driver.Buffer[uint32]) (first, second *driver.Launch) {
	k.Helper()
	m, err := k.c.LoadModule([]byte(dependentKernels))
	k.ok(err)
	k.closeLater(m)
	for name, to := range map[string]**driver.Launch{"first": &first, "second": &second} {
		f, err := m.Kernel(name)
		k.ok(err)
		*to, err = f.Prepare(config, b)
		k.ok(err)
	}
	return first, second
}

func TestProgrammaticDependencies(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		first, second := k.dependents(b)
		for _, port := range []byte{cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, cu.CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER} {
			k.ok(b.Fill(1))
			g := k.graph()
			n := k.add(g, first)
			dep := graph.Programmatic(n, graph.Node{}, port)
			m, err := addAfter(g, second, dep)
			k.ok(err)
			in, err := m.Incoming()
			k.ok(err)
			out, err := n.Outgoing()
			k.ok(err)
			want := []graph.Edge{{From: n, To: m, Data: dep.Data}}
			if !slices.Equal(in, want) || !slices.Equal(out, want) {
				k.Errorf("edges %v and %v, want %v", in, out, want)
			}
			k.run(k.exec(g))
			k.expect(b, 20)
		}
	})
}

func TestEdgesWithDataAreAddedAndRemoved(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		first, second := k.dependents(b)
		g := k.graph()
		n, m := k.add(g, first), k.add(g, second)
		last, err := addAfter(g, k.launch(k.plus, b, 3), graph.Edge{From: m}) // plain
		k.ok(err)
		e := graph.Edge{From: n, To: m, Data: graph.Programmatic(n, graph.Node{}).Data}
		plain := graph.Edge{From: n, To: last}
		k.ok(g.AddEdges(e, plain))
		k.run(k.exec(g))
		k.expect(b, 23)
		if err := g.RemoveEdges(graph.Edge{From: n, To: m}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("an edge without its data: %v", err)
		}
		k.ok(g.RemoveEdges(e, plain))
		in, err := m.Incoming()
		k.ok(err)
		out, err := n.Outgoing()
		k.ok(err)
		if len(in)+len(out) != 0 {
			k.Errorf("edges left: %v, %v", in, out)
		}
		k.ok(g.AddEdges())
		k.ok(g.AddEdges(plain, graph.Edge{From: n, To: m}))
		k.run(k.exec(g))
		k.expect(b, 243)
	})
}

func TestEdgeDataThatCannotBe(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		first, _ := k.dependents(b)
		fill, err := driver.Fill[uint32](b, 4)
		k.ok(err)
		g, other := k.graph(), k.graph()
		n, f := k.add(g, first), k.add(g, fill)
		foreign := k.add(other, first)
		programmatic := graph.Programmatic(n, graph.Node{}).Data
		for name, err := range map[string]error{
			"from a fill":            second(addAfter(g, first, graph.Programmatic(f, graph.Node{}))),
			"to a fill":              second(addAfter(g, fill, graph.Programmatic(n, graph.Node{}))),
			"port 0":                 second(addAfter(g, first, graph.Programmatic(n, graph.Node{}, 0))),
			"port 9":                 second(addAfter(g, first, graph.Programmatic(n, graph.Node{}, 9))),
			"node of another graph":  second(addAfter(g, first, graph.Programmatic(foreign, graph.Node{}))),
			"zero node":              second(addAfter(g, first, graph.Edge{})),
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
		b, to := k.memory(), k.memory()
		e, err := k.c.NewEvent()
		k.ok(err)
		k.closeLater(e)
		called := 0
		call, err := driver.NewHostFunc(k.c, func() { called++ })
		k.ok(err)
		fill, err := driver.Fill(b.All().View(0, 8), 4)
		k.ok(err)
		nothing, err := driver.Fill(b.All().View(0, 0), 4)
		k.ok(err)
		copied, err := driver.CopyDevice[uint32](to, b)
		k.ok(err)
		write, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 9, 50, 0))
		k.ok(err)
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 1))
		last := graph.Edge{From: first}
		for _, op := range []driver.Op{fill, nothing, write, driver.RecordOp(e), driver.WaitOp(e), call, copied, k.launch(k.times, b, 2)} {
			n, err := addAfter(g, op, last)
			k.ok(err)
			last = graph.Edge{From: n}
		}
		_, second := k.dependents(b)
		_, err = addAfter(g, second, graph.Programmatic(last.From, graph.Node{}), graph.Edge{From: first})
		k.ok(err)
		k.run(k.exec(g))
		got, moved := make([]uint32, elems), make([]uint32, elems)
		k.ok(b.CopyTo(got))
		k.ok(to.CopyTo(moved))
		if called != 1 || moved[0] != 4 || moved[9] != 50 || moved[31] != 2 || got[0] != 80 || got[31] != 40 {
			k.Errorf("called %d, copied %v, left %v", called, moved, got)
		}
	})
}

func TestEdgeDataNeedsItsCUDA(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12020}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		m, err := addAfter(g, k.launch(k.plus, b, 1), graph.Edge{From: n})
		k.ok(err)
		e := graph.Edge{From: n, To: m, Data: graph.Programmatic(n, graph.Node{}).Data}
		for name, err := range map[string]error{
			"AddAfter":    second(addAfter(g, k.launch(k.plus, b, 1), graph.Programmatic(n, graph.Node{}))),
			"AddEdges":    g.AddEdges(e),
			"RemoveEdges": g.RemoveEdges(e),
		} {
			if !errors.Is(err, driver.ErrNotSupported) {
				k.Errorf("%s: %v", name, err)
			}
		}
		in, err := m.Incoming()
		k.ok(err)
		if !slices.Equal(in, []graph.Edge{{From: n, To: m}}) {
			k.Errorf("edges %v", in)
		}
		k.ok(g.RemoveEdges(in...))
		k.ok(g.AddEdges(in...))
		k.run(k.exec(g))
		k.expect(b, 3)
	})
}

// Each dependency keeps its data, whatever the others of the call have.
func TestDependenciesOfOneCallKeepTheirData(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		first, second := k.dependents(b)
		for _, programmaticFirst := range []bool{true, false} {
			g := k.graph()
			n, m := k.add(g, first), k.add(g, k.launch(k.plus, k.memory(), 1))
			deps := []graph.Edge{graph.Programmatic(n, graph.Node{}), {From: m}}
			if !programmaticFirst {
				deps[0], deps[1] = deps[1], deps[0]
			}
			last, err := addAfter(g, second, deps...)
			k.ok(err)
			in, err := last.Incoming()
			k.ok(err)
			want := map[graph.Node]cu.CUgraphEdgeData{n: graph.Programmatic(n, graph.Node{}).Data, m: {}}
			for _, e := range in {
				if want[e.From] != e.Data {
					k.Errorf("programmatic first %v: edge from %v has %+v", programmaticFirst, e.From, e.Data)
				}
			}
			if len(in) != 2 {
				k.Errorf("%d edges", len(in))
			}
			k.run(k.exec(g))
		}
	})
}

func TestCycleIsNamedByItsNodes(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		var nodes []graph.Node
		for _, name := range []string{"before", "load", "scale", "store", "after"} {
			n, err := g.AddEmpty(nodes[max(0, len(nodes)-1):]...)
			k.ok(err)
			k.ok(n.SetName(name))
			nodes = append(nodes, n)
		}
		k.ok(dependOn(nodes[1], nodes[3])) // load runs after store
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
		k.ok(g.RemoveEdges(edgesOf(nodes[3:4], nodes[1:2])...))
		k.run(k.exec(g))
	})
}

// Check names the nodes of a cycle as Instantiate does, also of one in a body.
func TestCheckNamesTheNodesOfACycle(t *testing.T) {
	each(t, func(k *kit) {
		circle := func(g *graph.Graph) {
			var nodes []graph.Node
			for _, name := range []string{"before", "load", "store", "after"} {
				n, err := g.AddEmpty(nodes[max(0, len(nodes)-1):]...)
				k.ok(err)
				k.ok(n.SetName(name))
				nodes = append(nodes, n)
			}
			k.ok(dependOn(nodes[1], nodes[2]))
		}
		flat, outer := k.graph(), k.graph()
		circle(flat)
		_, body, err := outer.AddIf(k.cond(outer, graph.WithDefault(1)))
		k.ok(err)
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
		g := k.graph()
		a, err := g.AddEmpty()
		k.ok(err)
		b, err := g.AddEmpty()
		k.ok(err)
		if err := dependOn(b, a, b); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "after itself") {
			k.Errorf("got %v", err)
		}
		if err := g.AddEdges(graph.Edge{From: a}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "zero Node") {
			k.Errorf("the zero Node: %v", err)
		}
	})
}
