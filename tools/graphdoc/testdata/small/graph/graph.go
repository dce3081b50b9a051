// Package graph is a small package graph for the generator's test.
package graph

import (
	"example.com/small/driver"
	"example.com/small/driver/cu"
)

type Graph struct{ d *driver.Driver }

// New creates a graph. Close calls the function that New passes to Own.
func New(d *driver.Driver) *Graph {
	g := &Graph{d}
	_ = d.CuGraphCreate()
	own(g)
	return g
}

func own(g *Graph) {
	driver.Own(g, "graph", 0, func(d *driver.Driver) error { return d.CuGraphDestroy() })
}

func (g *Graph) Close() error { return nil }

type lister func(d *driver.Driver) error

var list lister = (*driver.Driver).CuGraphGetNodes

// Nodes calls a C function through a variable and an unexported method.
func (g *Graph) Nodes() error { return g.each(list) }

func (g *Graph) each(l lister) error { return l(g.d) }

// Edges queries whether a function exists, which must not count as a call, and calls another
// function.
func (g *Graph) Edges() error {
	if g.d.Has(cu.FnCuGraphUpload) {
		return g.d.CuGraphGetEdges_v10000()
	}
	return nil
}

// All calls only an exported method.
func (g *Graph) All() error { return g.Edges() }

func (g *Graph) Instantiate() error { return g.d.CuGraphInstantiateWithFlags() }

func (g *Graph) Launch(b *cu.Batch) { b.GraphLaunch() }
