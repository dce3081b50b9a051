package kernelfault_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// withConditionals is the first CUDA version that supports all conditional nodes of the tests.
const withConditionals = 12040

// Wherever the failing kernel is in a graph, its fault must be returned at each replay, and later
// nodes must run.
func TestFaultsInGraphs(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := kernel(t, load(t, c, "index"), "index")
		s, out, after := stream(t, c), buffer(t, c, 32), buffer(t, c, 32)
		bad, good := prepareIndex(t, k, out, 31, 0), prepareIndex(t, k, after, 32, 0)
		for name, build := range map[string]func(*testing.T, *graph.Graph) graph.Node{
			"node": func(t *testing.T, g *graph.Graph) graph.Node { return must(g.Add(bad))(t) },
			"child": func(t *testing.T, g *graph.Graph) graph.Node {
				child := must(graph.New(c))(t)
				defer child.Close()
				must(child.Add(bad))(t)
				return must(g.AddChild(child))(t)
			},
			"if": func(t *testing.T, g *graph.Graph) graph.Node {
				n, body, err := g.AddIf(must(g.NewCond(graph.WithDefault(1)))(t))
				ok(t, err)
				must(body.Add(bad))(t)
				return n
			},
			"while": func(t *testing.T, g *graph.Graph) graph.Node {
				cond := must(g.NewCond(graph.WithDefault(1)))(t)
				n, body, err := g.AddWhile(cond)
				ok(t, err)
				stop := must(cond.Set(0))(t)
				must(body.AddBatch(nil, graph.Chain([]driver.Op{bad, stop})))(t)
				return n
			},
		} {
			t.Run(name, func(t *testing.T) {
				if c.Driver().Version() < withConditionals && (name == "if" || name == "while") {
					t.Skip("this driver has no conditional nodes")
				}
				g := must(graph.New(c))(t)
				defer g.Close()
				must(g.Add(good, build(t, g)))(t)
				x := execOf(t, g)
				for replay := range 3 {
					ok(t, after.Fill(0))
					if f := faultOf(t, x.Run(t.Context(), s)); f.Thread != [3]uint32{31} || f.Line != 17 {
						t.Fatalf("replay %d returned %v", replay, f)
					}
					if v := values(t, after); v[31] != 31 {
						t.Fatalf("the node after the fault stored %d", v[31])
					}
				}
				ok(t, x.Wait(t.Context()))
			})
		}
	})
}
