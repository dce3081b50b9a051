package main

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// check builds part of the program by hand and omits an edge, from a fill to the kernel that reads
// the filled memory. Check must report the conflict. After the edge is added, Check must report
// nothing.
func (e *example) check() error {
	ops, err := e.program()
	if err != nil {
		return err
	}
	g, err := graph.New(e.Context)
	if err != nil {
		return err
	}
	e.Close(g)
	fill, err := named(g, "fill", ops[0])
	if err != nil {
		return err
	}
	scale, err := named(g, "scale", ops[1]) // wrong: the node must depend on fill
	if err != nil {
		return err
	}
	found, err := g.Check()
	if err != nil {
		return err
	}
	for _, c := range found.Conflicts {
		e.Printf("%v", c)
	}
	if len(found.Conflicts) != 1 {
		return errors.New("one conflict should be found")
	}
	if err := g.AddEdges(graph.Edge{From: fill, To: scale}); err != nil {
		return err
	}
	if found, err = g.Check(); err != nil {
		return err
	}
	e.Printf("with the edge: %v", found)
	return found.Err()
}

func named(g *graph.Graph, name string, op driver.Op, after ...graph.Node) (graph.Node, error) {
	n, err := g.Add(op, after...)
	if err != nil {
		return n, err
	}
	return n, n.SetName(name)
}
