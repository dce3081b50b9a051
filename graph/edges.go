package graph

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Programmatic returns the edge of a programmatic dependency between two kernel nodes (CUDA 12.3).
// The kernel of the node to may start before the kernel of the node from has ended. It must wait with
// griddepcontrol for the results it needs. port determines when it may start: once all blocks of the
// first kernel have triggered or ended (CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, the default), or once
// all of them have begun (CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER).
func Programmatic(from, to Node, port ...byte) Edge {
	e := Edge{From: from, To: to, Data: cu.CUgraphEdgeData{
		Type:      byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC),
		From_port: cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
	}}
	if len(port) > 0 {
		e.Data.From_port = port[0]
	}
	return e
}

var plainEdge cu.CUgraphEdgeData

// AddEdges adds dependencies with their data, if any. Data needs CUDA 12.3. A node cannot run after
// itself. As in CUDA, AddEdges accepts longer cycles, but Instantiate and Check then return errors
// that name the nodes. On error, AddEdges may have added the edges before the rejected one.
func (g *Graph) AddEdges(edges ...Edge) error {
	return g.changeEdgeData("add edges to", edges, (*Graph).addEdges, (*driver.Driver).CuGraphAddDependencies, true)
}

// RemoveEdges removes dependencies. Each edge must have the data that it was added with or that
// Edges returns, because two nodes may have several edges with different data. Data needs CUDA
// 12.3.
func (g *Graph) RemoveEdges(edges ...Edge) error {
	return g.changeEdgeData("remove edges from", edges, (*Graph).removeEdges, (*driver.Driver).CuGraphRemoveDependencies, false)
}

type edgeCall func(d *driver.Driver, g driver.CUgraph, from, to *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) error

func (g *Graph) changeEdgeData(what string, edges []Edge, plain func(*Graph) error, call edgeCall, check bool) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if len(edges) == 0 {
		return nil
	}
	special, err := g.gatherEdgeData(edges, check)
	if err == nil && !check && g.d.Has(cu.FnCuGraphRemoveDependencies) {
		err = g.haveEdges(edges)
	}
	switch {
	case err != nil:
	case special:
		err = byData(g.from, g.to, g.data, func(from, to *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) error {
			return call(g.d, g.raw, from, to, data, n)
		})
	default:
		err = plain(g)
	}
	g.alive()
	if err != nil {
		return fmt.Errorf("cannot %s %v: %w", what, g, g.memoryLimit(err, noRemoval))
	}
	return nil
}

// byData makes one call for each run of edges with the same data. Driver 580 applies the data of
// the first edge of a call to all its edges.
func byData(from, to []cu.CUgraphNode, data []cu.CUgraphEdgeData, call func(from, to *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) error) error {
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

// haveEdges returns an error for an edge that does not exist with the same data. If a call has no
// data, driver 580 removes an edge whatever its data.
func (g *Graph) haveEdges(edges []Edge) error {
	for i := range edges {
		e := &edges[i]
		in, err := e.To.edgesLocked(e.To.dependencyList, func(from Node, data cu.CUgraphEdgeData) Edge { return Edge{from, e.To, data} })
		if err != nil {
			return err
		}
		if !slices.Contains(in, *e) {
			return fmt.Errorf("edge %d: %w", i, invalid("there is no edge from %v to %v with data %+v", e.From, e.To, e.Data))
		}
	}
	return nil
}

// gatherEdgeData fills g.from, g.to and g.data, and reports whether any edge has data. It checks
// the data only if check is set.
func (g *Graph) gatherEdgeData(edges []Edge, check bool) (special bool, err error) {
	g.from, g.to, g.data = g.from[:0], g.to[:0], g.data[:0]
	for i := range edges {
		e := &edges[i]
		if err := g.checkEdge(e, check); err != nil {
			return false, fmt.Errorf("edge %d: %w", i, err)
		}
		special = special || e.Data != plainEdge
		g.from, g.to, g.data = append(g.from, e.From.handle()), append(g.to, e.To.handle()), append(g.data, e.Data)
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
		return invalid("%v cannot run after itself", e.From)
	}
	if !data || e.Data == plainEdge {
		return nil
	}
	var to Type
	if err := g.d.CuGraphNodeGetType(e.To.handle(), &to); err != nil {
		return err
	}
	return g.checkData(e.From, e.Data, to)
}

// addEdges and removeEdges call the driver's ABI with edge data, if it has one (CUDA 12.3).
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

// checkData returns an error for a programmatic dependency with an unknown port or with a node that
// is not a kernel. The driver would reject it without a reason, and checks all other data itself.
func (g *Graph) checkData(from Node, data cu.CUgraphEdgeData, to Type) error {
	if data.Type != byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) {
		return nil
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
		return invalid("a programmatic dependency must be between two kernels, but %v is a %v and what depends on it is a %v", from, t, to)
	}
	return nil
}
