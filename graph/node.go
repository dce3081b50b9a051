package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// Node is one node of a graph. It is a small value; two are equal if they are
// the same node. The zero Node is none.
type Node struct {
	g   *Graph
	raw driver.CUgraphNode
	i   uint32 // its place in the graph's tables
}

// Type says what a node does.
type Type = driver.CUgraphNodeType

// Graph returns the graph the node is in.
func (n Node) Graph() *Graph { return n.g }

// Raw returns the driver's handle, 0 for the zero Node.
func (n Node) Raw() driver.CUgraphNode { return n.raw }

// IsZero reports whether n is no node.
func (n Node) IsZero() bool { return n.g == nil }

// String names the node: by the name it was given, else by its number.
func (n Node) String() string {
	if n.g == nil {
		return "no node"
	}
	if name := n.Name(); name != "" {
		return fmt.Sprintf("node %d (%s)", n.i, name)
	}
	return fmt.Sprintf("node %d", n.i)
}

// Name returns the name that SetName gave, or "".
func (n Node) Name() string {
	if n.g == nil {
		return ""
	}
	return n.g.names.get(n.i)
}

// SetName names the node in errors and drawings.
func (n Node) SetName(name string) error {
	if err := n.lock(); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	n.g.names.set(n.i, name)
	return nil
}

// Type returns what the node does.
func (n Node) Type() (Type, error) {
	if err := n.lock(); err != nil {
		return 0, err
	}
	defer n.g.mu.Unlock()
	var t Type
	err := n.g.d.CuGraphNodeGetType(n.raw, &t)
	n.g.alive()
	return t, err
}

// Destroy removes the node from its graph, with its edges. Execs that have it
// keep it.
func (n Node) Destroy() error {
	if err := n.lock(); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	if err := n.captured(); err != nil {
		return err
	}
	if err := n.g.d.CuGraphDestroyNode(n.raw); err != nil {
		return n.g.memoryLimit(err, noRemoval)
	}
	n.g.removed(n)
	return nil
}

// lock takes the node's graph for a call, unless the node is none of it.
func (n Node) lock() error {
	if n.g == nil {
		return errNoNode
	}
	if err := n.g.lock(); err != nil {
		return fmt.Errorf("its %w", err)
	}
	if n.g.raws[n.i] != n.raw {
		n.g.mu.Unlock()
		return refuse(driver.CUDA_ERROR_INVALID_HANDLE, "node %d of %v was destroyed", n.i, n.g)
	}
	return nil
}

var errNoNode = invalid("the zero Node is no node of any graph")

// added enters a new node in the tables. The owners have its list already.
func (g *Graph) added(raw driver.CUgraphNode) Node {
	i := uint32(len(g.raws))
	g.raws = append(g.raws, raw)
	if g.index != nil {
		g.index[raw] = i
	}
	return Node{g, raw, i}
}

// removed takes a destroyed node out of the tables. Its number is not given
// again, the driver's handle may be.
func (g *Graph) removed(n Node) {
	n.forgetParts()
	g.raws[n.i] = 0
	g.removals++
	delete(g.index, n.raw)
	delete(g.tuned, n.raw)
	g.names.set(n.i, "")
	g.prints.forget(n.i)
	if g.part {
		return // what it referred to is the outermost graph's
	}
	o := g.owners()
	o.forget(n.i)
	o.flush()
}

// node returns the Node of a driver's node in this graph, which the tables may
// not know yet: captures and clones make nodes by themselves.
func (g *Graph) node(raw driver.CUgraphNode) Node {
	if raw == 0 {
		return Node{}
	}
	if g.index == nil {
		g.index = make(map[driver.CUgraphNode]uint32, len(g.raws))
		for i, r := range g.raws {
			if r != 0 {
				g.index[r] = uint32(i)
			}
		}
	}
	if i, known := g.index[raw]; known {
		return Node{g, raw, i}
	}
	return g.found(raw)
}

// found enters a node that refers to nothing that the graph knows of.
func (g *Graph) found(raw driver.CUgraphNode) Node {
	n := g.added(raw)
	if !g.part {
		g.owners().grow(n.i)
	}
	return n
}

// check reports whether n is a node of g that exists.
func (g *Graph) check(n Node) error {
	switch {
	case n.g == g && g.raws[n.i] == n.raw:
		return nil
	case n.g == nil:
		return errNoNode
	case n.g != g:
		return invalid("node %d is of %v, not of %v", n.i, n.g, g)
	}
	return refuse(driver.CUDA_ERROR_INVALID_HANDLE, "node %d of %v was destroyed", n.i, g)
}
