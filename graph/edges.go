package graph

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver/cu"
)

// AddDependencies makes to[i] run after from[i].
func (g *Graph) AddDependencies(from, to []Node) error {
	return g.changeEdges("add dependencies to", from, to, (*Graph).addEdges)
}

// RemoveDependencies removes plain dependencies.
func (g *Graph) RemoveDependencies(from, to []Node) error {
	return g.changeEdges("remove dependencies from", from, to, (*Graph).removeEdges)
}

// DependOn makes n run after each of the nodes. A node cannot depend on itself. Longer cycles are
// accepted, as in CUDA, but Instantiate and Check return errors that name their nodes.
func (n Node) DependOn(nodes ...Node) error {
	if n.g == nil {
		return errNoNode
	}
	if slices.Contains(nodes, n) {
		return invalid("%v of %v cannot run after itself", n, n.g)
	}
	to := make([]Node, len(nodes))
	for i := range to {
		to[i] = n
	}
	return n.g.AddDependencies(nodes, to)
}

func (g *Graph) changeEdges(what string, from, to []Node, change func(*Graph) error) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if len(from) != len(to) {
		return invalid("cannot %s %v: %d nodes to depend on and %d that depend", what, g, len(from), len(to))
	}
	if len(from) == 0 {
		return nil
	}
	if err := g.gatherEdges(from, to); err != nil {
		return fmt.Errorf("cannot %s %v: %w", what, g, err)
	}
	err := change(g)
	g.alive()
	if err != nil {
		return fmt.Errorf("cannot %s %v: %w", what, g, g.memoryLimit(err, noRemoval))
	}
	return nil
}

// gatherEdges fills g.from and g.to.
func (g *Graph) gatherEdges(from, to []Node) error {
	g.from, g.to = g.from[:0], g.to[:0]
	for i, f := range from {
		t := to[i]
		if err := g.check(f); err != nil {
			return err
		}
		if err := g.check(t); err != nil {
			return err
		}
		if f == t {
			return invalid("node %d would wait for itself", f.i)
		}
		g.from, g.to = append(g.from, f.handle()), append(g.to, t.handle())
	}
	return nil
}

// addEdges and removeEdges pick the ABI: edges have data since CUDA 12.3.
func (g *Graph) addEdges() error {
	n := uintptr(len(g.from))
	if g.d.Has(cu.FnCuGraphAddDependencies) {
		return g.d.CuGraphAddDependencies(g.raw, &g.from[0], &g.to[0], nil, n)
	}
	return g.d.CuGraphAddDependencies_v10000(g.raw, &g.from[0], &g.to[0], n)
}

func (g *Graph) removeEdges() error {
	n := uintptr(len(g.from))
	if g.d.Has(cu.FnCuGraphRemoveDependencies) {
		return g.d.CuGraphRemoveDependencies(g.raw, &g.from[0], &g.to[0], nil, n)
	}
	return g.d.CuGraphRemoveDependencies_v10000(g.raw, &g.from[0], &g.to[0], n)
}
