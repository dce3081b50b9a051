package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Node is one node of a graph. It is a small comparable value: two are equal if they are the same
// node. The zero Node is no node.
type Node struct {
	g *Graph
	i uint32 // its place in the graph's tables, which have the driver's handle
}

// Type says what a node does.
type Type = cu.CUgraphNodeType

// Graph returns the graph that contains the node.
func (n Node) Graph() *Graph { return n.g }

// Raw returns the driver's handle. It is 0 for the zero Node, for a destroyed node, and once the
// graph is closed. The handle of a node recorded in the body of a conditional node changes when
// that node is complete.
func (n Node) Raw() cu.CUgraphNode {
	if n.g == nil {
		return 0
	}
	n.g.lockLatch()
	defer n.g.mu.Unlock()
	if n.g.shut || !n.g.has(n.i) {
		return 0
	}
	return n.handle()
}

// handle returns the driver's handle of a node that exists. The graph is locked.
func (n Node) handle() cu.CUgraphNode { return n.g.raws[n.i] }

// has reports whether the graph has a node of that number, which was not
// destroyed.
func (g *Graph) has(i uint32) bool { return uint64(i) < uint64(len(g.raws)) && g.raws[i] != 0 }

// IsZero reports whether n is the zero Node.
func (n Node) IsZero() bool { return n.g == nil }

// String returns the node's name, or its number if it has none.
func (n Node) String() string {
	if n.g == nil {
		return "no node"
	}
	if name := n.Name(); name != "" {
		return fmt.Sprintf("node %d (%s)", n.i, name)
	}
	return fmt.Sprintf("node %d", n.i)
}

// Name returns the name set by SetName, or "".
func (n Node) Name() string {
	if n.g == nil {
		return ""
	}
	return n.g.names.get(n.i)
}

// SetName sets the node's name for errors and drawings.
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
	err := n.g.d.CuGraphNodeGetType(n.handle(), &t)
	n.g.alive()
	return t, err
}

// Destroy removes the node and its edges from its graph. Existing Execs keep it.
func (n Node) Destroy() error {
	if err := n.lock(); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	if err := n.captured(); err != nil {
		return err
	}
	if err := n.g.d.CuGraphDestroyNode(n.handle()); err != nil {
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
	if !n.g.has(n.i) {
		n.g.mu.Unlock()
		return refuse(driver.CUDA_ERROR_INVALID_HANDLE, "node %d of %v was destroyed", n.i, n.g)
	}
	return nil
}

var errNoNode = aNode.Error(false)

// added enters a new node in the tables. The owners have its list already.
func (g *Graph) added(raw cu.CUgraphNode) Node {
	i := uint32(len(g.raws))
	g.raws = append(g.raws, raw)
	if g.index != nil {
		g.index[raw] = i
	}
	return Node{g, i}
}

// removed takes a destroyed node out of the tables. Its number is not given
// again, the driver's handle may be.
func (g *Graph) removed(n Node) {
	n.forgetParts()
	raw := n.handle()
	g.raws[n.i] = 0
	delete(g.index, raw)
	delete(g.tuned, raw)
	g.names.set(n.i, "")
	g.accesses.Forget(n.i)
	if g.part {
		return // what it referred to is the outermost graph's
	}
	o := g.changeRefs()
	o.Forget(n.i)
	o.Flush()
}

// node returns the Node of a driver's node in this graph, which the tables may
// not know yet: captures and clones make nodes by themselves.
func (g *Graph) node(raw cu.CUgraphNode) Node {
	if raw == 0 {
		return Node{}
	}
	if g.index == nil {
		g.index = make(map[cu.CUgraphNode]uint32, len(g.raws))
		for i, r := range g.raws {
			if r != 0 {
				g.index[r] = uint32(i)
			}
		}
	}
	if i, known := g.index[raw]; known {
		return Node{g, i}
	}
	return g.found(raw)
}

// found enters a node that refers to nothing that the graph knows of.
func (g *Graph) found(raw cu.CUgraphNode) Node {
	n := g.added(raw)
	if !g.part {
		g.changeRefs().Grow(n.i)
	}
	return n
}

// check reports whether n is a node of g that exists.
func (g *Graph) check(n Node) error {
	switch {
	case n.g == g && g.has(n.i):
		return nil
	case n.g == nil:
		return errNoNode
	case n.g != g:
		return invalid("node %d is of %v, not of %v", n.i, n.g, g)
	}
	return refuse(driver.CUDA_ERROR_INVALID_HANDLE, "node %d of %v was destroyed", n.i, g)
}
