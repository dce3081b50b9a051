package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Incoming returns the edges that end at n, with their data.
func (n Node) Incoming() ([]Edge, error) {
	return n.edges(n.dependencyList, func(other Node, data cu.CUgraphEdgeData) Edge { return Edge{other, n, data} })
}

// Outgoing returns the edges that begin at n, with their data.
func (n Node) Outgoing() ([]Edge, error) {
	return n.edges(n.dependentList, func(other Node, data cu.CUgraphEdgeData) Edge { return Edge{n, other, data} })
}

// neighbourList lists the nodes at the other ends of a node's edges, or says how
// many.
type neighbourList func(d *driver.Driver, nodes *cu.CUgraphNode, data *cu.CUgraphEdgeData, count *uintptr) error

func (n Node) edges(list neighbourList, edge func(other Node, data cu.CUgraphEdgeData) Edge) ([]Edge, error) {
	if err := n.lock(); err != nil {
		return nil, err
	}
	defer n.g.mu.Unlock()
	return n.edgesLocked(list, edge)
}

func (n Node) edgesLocked(list neighbourList, edge func(other Node, data cu.CUgraphEdgeData) Edge) ([]Edge, error) {
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
func (n Node) dependencyList(d *driver.Driver, nodes *cu.CUgraphNode, data *cu.CUgraphEdgeData, count *uintptr) error {
	if d.Has(cu.FnCuGraphNodeGetDependencies) {
		return d.CuGraphNodeGetDependencies(n.handle(), nodes, data, count)
	}
	return d.CuGraphNodeGetDependencies_v10000(n.handle(), nodes, count)
}

func (n Node) dependentList(d *driver.Driver, nodes *cu.CUgraphNode, data *cu.CUgraphEdgeData, count *uintptr) error {
	if d.Has(cu.FnCuGraphNodeGetDependentNodes) {
		return d.CuGraphNodeGetDependentNodes(n.handle(), nodes, data, count)
	}
	return d.CuGraphNodeGetDependentNodes_v10000(n.handle(), nodes, count)
}

// Dependencies returns the nodes that n runs after.
func (n Node) Dependencies() ([]Node, error) {
	return n.neighbours(n.dependencyList)
}

// Dependents returns the nodes that run after n.
func (n Node) Dependents() ([]Node, error) {
	return n.neighbours(n.dependentList)
}

func (n Node) neighbours(list neighbourList) ([]Node, error) {
	if err := n.lock(); err != nil {
		return nil, err
	}
	defer n.g.mu.Unlock()
	raws, _, err := n.ends(list)
	return n.g.nodes(raws), err
}

// ends lists what is at the other ends of a node's edges, always with their
// data, because the driver refuses to leave out data that is not zero.
func (n Node) ends(list neighbourList) ([]cu.CUgraphNode, []cu.CUgraphEdgeData, error) {
	var count uintptr
	if err := list(n.g.d, nil, nil, &count); err != nil || count == 0 {
		return nil, nil, err
	}
	raws, data := make([]cu.CUgraphNode, count), make([]cu.CUgraphEdgeData, count)
	if err := list(n.g.d, &raws[0], &data[0], &count); err != nil {
		return nil, nil, err
	}
	return raws[:count], data[:count], nil
}
