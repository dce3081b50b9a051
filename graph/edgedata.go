package graph

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/purecuda/cuda/driver"
)

// Dep is a node that a new node runs after, and how: the zero Data is a plain
// dependency.
type Dep struct {
	Node Node
	// Data is CUDA's edge data (CUDA 12.3).
	Data driver.CUgraphEdgeData
}

// Programmatic is a programmatic dependency on the kernel node n: the new node,
// which must be a kernel too, may start before n has ended, and waits by
// griddepcontrol itself for what it needs. port says when n lets it start: once
// all blocks of n have triggered or ended, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
// or, the default being that one, once all have begun,
// CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER. CUDA 12.3.
func Programmatic(n Node, port ...byte) Dep {
	d := Dep{Node: n, Data: driver.CUgraphEdgeData{
		Type:      byte(driver.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC),
		From_port: driver.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
	}}
	if len(port) > 0 {
		d.Data.From_port = port[0]
	}
	return d
}

var plainEdge driver.CUgraphEdgeData

// AddAfter is Add for dependencies with data. Those without any, alone, need no
// more of the driver than Add does; data needs CUDA 12.3.
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
	var raw driver.CUgraphNode
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
func (g *Graph) addTagged(n, from *driver.CUgraphNode, data *driver.CUgraphEdgeData, count uintptr, p *driver.CUgraphNodeParams, op driver.Op) error {
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
func (g *Graph) dependencyData(deps []Dep, to Type) (*driver.CUgraphNode, *driver.CUgraphEdgeData, error) {
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
		g.from, g.data = append(g.from, d.Node.raw), append(g.data, d.Data)
	}
	if !special {
		return &g.from[0], nil, nil
	}
	return &g.from[0], &g.data[0], nil
}

// checkData explains what the driver would only call invalid.
func (g *Graph) checkData(from Node, data driver.CUgraphEdgeData, to Type) error {
	if data.Type != byte(driver.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) {
		return nil // the driver's to judge
	}
	if p := data.From_port; p != driver.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC && p != driver.CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER {
		return invalid("a programmatic dependency leaves %v by port %d; it is port %d (programmatic) or %d (launch order)",
			from, p, driver.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, driver.CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER)
	}
	var t Type
	if err := g.d.CuGraphNodeGetType(from.raw, &t); err != nil {
		return err
	}
	if t != driver.CU_GRAPH_NODE_TYPE_KERNEL || to != driver.CU_GRAPH_NODE_TYPE_KERNEL {
		return invalid("a programmatic dependency is between two kernels, and %v is a %v and what depends on it a %v", from, t, to)
	}
	return nil
}

// AddEdges adds dependencies, each with its data. Data needs CUDA 12.3. When one
// is refused none may have been added, or those before it.
func (g *Graph) AddEdges(edges ...Edge) error {
	return g.changeEdgeData("add edges to", edges, (*Graph).addEdges, (*driver.Driver).CuGraphAddDependencies, true)
}

// RemoveEdges takes dependencies away. The data of each must be what it was added
// with, or what Edges yields: two nodes may have several edges that differ in it.
// Data needs CUDA 12.3.
func (g *Graph) RemoveEdges(edges ...Edge) error {
	return g.changeEdgeData("remove edges from", edges, (*Graph).removeEdges, (*driver.Driver).CuGraphRemoveDependencies, false)
}

type edgeCall func(d *driver.Driver, g driver.CUgraph, from, to *driver.CUgraphNode, data *driver.CUgraphEdgeData, n uintptr) error

func (g *Graph) changeEdgeData(what string, edges []Edge, plain func(*Graph) error, call edgeCall, check bool) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if len(edges) == 0 {
		return nil
	}
	special, err := g.gatherEdgeData(edges, check)
	if err == nil && !check && g.d.Has(driver.FnCuGraphRemoveDependencies) {
		err = g.haveEdges(edges)
	}
	switch {
	case err != nil:
	case special:
		err = byData(g.from, g.to, g.data, func(from, to *driver.CUgraphNode, data *driver.CUgraphEdgeData, n uintptr) error {
			return call(g.d, g.raw, from, to, data, n)
		})
	default:
		err = plain(g)
	}
	g.alive()
	if err != nil {
		return fmt.Errorf("cannot %s %v: %w", what, g, err)
	}
	return nil
}

// byData makes a call for each run of edges with the same data: driver 580 takes
// the data of the first edge of a call for that of all.
func byData(from, to []driver.CUgraphNode, data []driver.CUgraphEdgeData, call func(from, to *driver.CUgraphNode, data *driver.CUgraphEdgeData, n uintptr) error) error {
	for first := 0; first < len(data); {
		n := 1
		for first+n < len(data) && data[first+n] == data[first] {
			n++
		}
		if err := call(&from[first], &to[first], &data[first], uintptr(n)); err != nil {
			return err
		}
		first += n
	}
	return nil
}

// haveEdges reports edges that are not there with the data they are said to have:
// driver 580, given no data, removes an edge whatever its data is.
func (g *Graph) haveEdges(edges []Edge) error {
	for i := range edges {
		e := &edges[i]
		in, err := e.To.edgesLocked(e.To.dependencyList, func(from Node, data driver.CUgraphEdgeData) Edge { return Edge{from, e.To, data} })
		if err != nil {
			return err
		}
		if !slices.Contains(in, *e) {
			return fmt.Errorf("edge %d: %w", i, invalid("there is no edge from %v to %v with data %+v", e.From, e.To, e.Data))
		}
	}
	return nil
}

// gatherEdgeData fills g.from, g.to and g.data, and reports whether there is data.
func (g *Graph) gatherEdgeData(edges []Edge, check bool) (special bool, err error) {
	g.from, g.to, g.data = g.from[:0], g.to[:0], g.data[:0]
	for i := range edges {
		e := &edges[i]
		if err := g.checkEdge(e, check); err != nil {
			return false, fmt.Errorf("edge %d: %w", i, err)
		}
		special = special || e.Data != plainEdge
		g.from, g.to, g.data = append(g.from, e.From.raw), append(g.to, e.To.raw), append(g.data, e.Data)
	}
	return special, nil
}

func (g *Graph) checkEdge(e *Edge, data bool) error {
	if err := g.check(e.From); err != nil {
		return err
	}
	if err := g.check(e.To); err != nil {
		return err
	}
	if e.From == e.To {
		return invalid("%v would wait for itself", e.From)
	}
	if !data || e.Data == plainEdge {
		return nil
	}
	var to Type
	if err := g.d.CuGraphNodeGetType(e.To.raw, &to); err != nil {
		return err
	}
	return g.checkData(e.From, e.Data, to)
}

// Incoming returns the edges that end at n, with their data.
func (n Node) Incoming() ([]Edge, error) {
	return n.edges(n.dependencyList, func(other Node, data driver.CUgraphEdgeData) Edge { return Edge{other, n, data} })
}

// Outgoing returns the edges that begin at n, with their data.
func (n Node) Outgoing() ([]Edge, error) {
	return n.edges(n.dependentList, func(other Node, data driver.CUgraphEdgeData) Edge { return Edge{n, other, data} })
}

// neighbourList lists the nodes at the other ends of a node's edges, or says how
// many.
type neighbourList func(d *driver.Driver, nodes *driver.CUgraphNode, data *driver.CUgraphEdgeData, count *uintptr) error

func (n Node) edges(list neighbourList, edge func(other Node, data driver.CUgraphEdgeData) Edge) ([]Edge, error) {
	if err := n.lock(); err != nil {
		return nil, err
	}
	defer n.g.mu.Unlock()
	return n.edgesLocked(list, edge)
}

func (n Node) edgesLocked(list neighbourList, edge func(other Node, data driver.CUgraphEdgeData) Edge) ([]Edge, error) {
	raws, data, err := n.ends(list)
	if len(raws) == 0 {
		return nil, err
	}
	edges := make([]Edge, len(raws))
	for i := range edges {
		edges[i] = edge(n.g.node(raws[i]), data[i])
	}
	return edges, err
}

// dependencyList and dependentList pick the ABI: edges have data since CUDA 12.3.
func (n Node) dependencyList(d *driver.Driver, nodes *driver.CUgraphNode, data *driver.CUgraphEdgeData, count *uintptr) error {
	if d.Has(driver.FnCuGraphNodeGetDependencies) {
		return d.CuGraphNodeGetDependencies(n.raw, nodes, data, count)
	}
	return d.CuGraphNodeGetDependencies_v10000(n.raw, nodes, count)
}

func (n Node) dependentList(d *driver.Driver, nodes *driver.CUgraphNode, data *driver.CUgraphEdgeData, count *uintptr) error {
	if d.Has(driver.FnCuGraphNodeGetDependentNodes) {
		return d.CuGraphNodeGetDependentNodes(n.raw, nodes, data, count)
	}
	return d.CuGraphNodeGetDependentNodes_v10000(n.raw, nodes, count)
}
