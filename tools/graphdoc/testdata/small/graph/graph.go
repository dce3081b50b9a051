// Package graph is a small one of the same form, for the generator's test.
package graph

import (
	"example.com/small/driver"
	"example.com/small/driver/cu"
)

type Graph struct{ d *driver.Driver }

// New creates; what it gives to Own is called by Close.
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

// Nodes calls by way of a variable and of a function that is not exported.
func (g *Graph) Nodes() error { return g.each(list) }

func (g *Graph) each(l lister) error { return l(g.d) }

// Edges asks whether there is a function, which is not to call it.
func (g *Graph) Edges() error {
	if g.d.Has(cu.FnCuGraphUpload) {
		return g.d.CuGraphGetEdges_v10000()
	}
	return nil
}

// All calls only what is exported.
func (g *Graph) All() error { return g.Edges() }

func (g *Graph) Instantiate() error { return g.d.CuGraphInstantiateWithFlags() }

func (g *Graph) Launch(b *cu.Batch) { b.GraphLaunch() }
