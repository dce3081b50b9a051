package graphtest

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// Add adds an operation to a graph.
func (k *Kit) Add(g *graph.Graph, op driver.Op, deps ...graph.Node) graph.Node {
	k.Helper()
	n, err := g.Add(op, deps...)
	k.OK(err)
	return n
}

// Scene is a graph with most kinds of nodes: a fork and a join, named nodes, and a child graph
// inside a child graph.
type Scene struct {
	G                                  *graph.Graph
	Fill, Left, Right, Join, Nest, End graph.Node
}

func NewScene(k *Kit) *Scene {
	k.Helper()
	a, b := k.Memory(), k.Memory()
	s := &Scene{G: k.Graph()}
	fill, err := driver.Fill[uint32](a, 4)
	k.OK(err)
	s.Fill = k.Add(s.G, fill)
	s.Left = k.Add(s.G, k.Launch(k.Plus, a, 1), s.Fill)
	s.Right = k.Add(s.G, k.Launch(k.Times, b, 2), s.Fill)
	k.OK(s.Right.SetName(`the "other" \ half`))
	copyOp, err := driver.CopyDevice[uint32](a, b)
	k.OK(err)
	s.Join = k.Add(s.G, copyOp, s.Left, s.Right)

	inner, outer := k.Graph(), k.Graph()
	k.Add(inner, k.Launch(k.Plus, b, 3))
	_, err = outer.AddChild(inner, k.Add(outer, k.Launch(k.Times, b, 3)))
	k.OK(err)
	s.Nest, err = s.G.AddChild(outer, s.Join)
	k.OK(err)
	s.End, err = s.G.AddEmpty(s.Nest)
	k.OK(err)
	k.OK(s.End.SetName("end"))
	return s
}
