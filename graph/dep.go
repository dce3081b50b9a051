package graph

import (
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Dep is a dependency of a new node on another. The zero Data is a plain dependency.
type Dep struct {
	Node Node
	// Data is CUDA's edge data (CUDA 12.3).
	Data cu.CUgraphEdgeData
}

// Programmatic returns a programmatic dependency on the kernel node n (CUDA 12.3). The new node
// must also be a kernel. It may start before n has ended, and must wait with griddepcontrol for the
// results it needs. port says when it may start: once all blocks of n have triggered or ended
// (CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, the default), or once all have begun
// (CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER).
func Programmatic(n Node, port ...byte) Dep {
	d := Dep{Node: n, Data: cu.CUgraphEdgeData{
		Type:      byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC),
		From_port: cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
	}}
	if len(port) > 0 {
		d.Data.From_port = port[0]
	}
	return d
}

var plainEdge cu.CUgraphEdgeData

// AddAfter is Add for dependencies with data, which need CUDA 12.3. Dependencies without data only
// need what Add does.
func (g *Graph) AddAfter(op driver.Op, deps ...Dep) (Node, error) {
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	n, err := g.addAfter(op, deps)
	g.mu.Unlock()
	runtime.KeepAlive(op)
	g.alive()
	if err != nil {
		return Node{}, g.addError(op, err)
	}
	return n, nil
}

func (g *Graph) addAfter(op driver.Op, deps []Dep) (Node, error) {
	if err := g.accepts(op); err != nil {
		return Node{}, err
	}
	p, err := tagged(op)
	if err != nil {
		return Node{}, err
	}
	from, data, err := g.dependencyData(deps, p.Type)
	if err != nil {
		return Node{}, err
	}
	o := g.owners()
	if err := o.hold(op.Refs()); err != nil {
		return Node{}, err
	}
	var raw cu.CUgraphNode
	if data == nil {
		err = g.addRaw(&raw, from, uintptr(len(deps)), op)
	} else {
		err = g.addTagged(&raw, from, data, uintptr(len(deps)), &p, op)
	}
	if err != nil {
		o.abandon()
		o.flush()
		return Node{}, err
	}
	g.commitNew(o)
	g.prints.op(len(g.raws), op)
	return g.added(raw), nil
}

// addTagged adds an operation with edge data, and its attributes.
func (g *Graph) addTagged(n, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, count uintptr, p *cu.CUgraphNodeParams, op driver.Op) error {
	if err := g.addGeneric(n, from, data, count, p); err != nil {
		return err
	}
	if l, ok := op.(*driver.Launch); ok {
		return g.setAttributes(*n, l.Attributes())
	}
	return nil
}

// dependencyData returns handles and edge data as C takes them; no data if all
// dependencies of a node of type to are plain.
func (g *Graph) dependencyData(deps []Dep, to Type) (*cu.CUgraphNode, *cu.CUgraphEdgeData, error) {
	if len(deps) == 0 {
		return nil, nil, nil
	}
	special := false
	g.from, g.data = g.from[:0], g.data[:0]
	for i := range deps {
		d := &deps[i]
		if err := g.check(d.Node); err != nil {
			return nil, nil, err
		}
		if d.Data != plainEdge {
			special = true
			if err := g.checkData(d.Node, d.Data, to); err != nil {
				return nil, nil, err
			}
		}
		g.from, g.data = append(g.from, d.Node.handle()), append(g.data, d.Data)
	}
	if !special {
		return &g.from[0], nil, nil
	}
	return &g.from[0], &g.data[0], nil
}

// checkData explains what the driver would only call invalid.
func (g *Graph) checkData(from Node, data cu.CUgraphEdgeData, to Type) error {
	if data.Type != byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) {
		return nil // the driver's to judge
	}
	if p := data.From_port; p != cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC && p != cu.CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER {
		return invalid("a programmatic dependency leaves %v by port %d; it is port %d (programmatic) or %d (launch order)",
			from, p, cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, cu.CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER)
	}
	var t Type
	if err := g.d.CuGraphNodeGetType(from.handle(), &t); err != nil {
		return err
	}
	if t != cu.CU_GRAPH_NODE_TYPE_KERNEL || to != cu.CU_GRAPH_NODE_TYPE_KERNEL {
		return invalid("a programmatic dependency is between two kernels, and %v is a %v and what depends on it a %v", from, t, to)
	}
	return nil
}
