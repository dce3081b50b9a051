package emulator

import (
	"slices"

	"github.com/purecuda/cuda/driver/cu"
)

var graphEdgeFunctions = functions{
	"cuGraphGetEdges":                 {cuGraphGetEdgesV1, afterInit},
	"cuGraphGetEdges_v2":              {cuGraphGetEdgesV2, afterInit},
	"cuGraphNodeGetDependencies":      {cuGraphNodeGetDependenciesV1, afterInit},
	"cuGraphNodeGetDependencies_v2":   {cuGraphNodeGetDependenciesV2, afterInit},
	"cuGraphNodeGetDependentNodes":    {cuGraphNodeGetDependentNodesV1, afterInit},
	"cuGraphNodeGetDependentNodes_v2": {cuGraphNodeGetDependentNodesV2, afterInit},
	"cuGraphAddDependencies":          {cuGraphAddDependenciesV1, afterInit},
	"cuGraphAddDependencies_v2":       {cuGraphAddDependenciesV2, afterInit},
	"cuGraphRemoveDependencies":       {cuGraphRemoveDependenciesV1, afterInit},
	"cuGraphRemoveDependencies_v2":    {cuGraphRemoveDependenciesV2, afterInit},
}

// edgesAt reads an array of dependencies. If dataArg is not negative, it also reads the array with
// their edge data. All nodes must belong to the graph, and none may occur twice.
func edgesAt(c call, g *graph, nodesArg, dataArg, countArg int) ([]edge, result) {
	n := int(c.Word(countArg))
	if n == 0 {
		return nil, success
	}
	nodes := list[uintptr](c, nodesArg, n)
	if nodes == nil {
		return nil, errInvalidValue
	}
	var data []cu.CUgraphEdgeData
	if dataArg >= 0 {
		data = list[cu.CUgraphEdgeData](c, dataArg, n)
	}
	deps := make([]edge, n)
	seen := make(map[*node]bool, n)
	for i, h := range nodes {
		d := find[node](c.e, h)
		if d == nil || d.graph != g || seen[d] {
			return nil, errInvalidValue
		}
		seen[d] = true
		deps[i].node = d
		if data != nil {
			deps[i].data = data[i]
			if r := checkEdge(d, data[i]); r != success {
				return nil, r
			}
		}
	}
	return deps, success
}

// checkEdge rejects edge data that is invalid for the node at the start of the edge. Only kernels
// have ports. A programmatic dependency requires a port. Any other dependency may use only the
// launch-order port.
func checkEdge(from *node, data cu.CUgraphEdgeData) result {
	kernel := from.params.kind() == cu.CU_GRAPH_NODE_TYPE_KERNEL
	switch {
	case data.Reserved != [5]byte{}, data.To_port != 0,
		data.Type > byte(cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC),
		data.From_port > cu.CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER,
		!kernel && data != cu.CUgraphEdgeData{},
		data.Type != 0 && data.From_port == 0,
		data.Type == 0 && data.From_port == cu.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC:
		return errInvalidValue
	}
	return success
}

func checkTarget(to nodeParams, deps ...edge) result {
	for _, d := range deps {
		if d.data.Type != 0 && to.kind() != cu.CU_GRAPH_NODE_TYPE_KERNEL {
			return errInvalidValue
		}
	}
	return success
}

// edgeTable holds the parallel arrays in which a query returns edges. If the caller passes no array
// for edge data, a query fails if any edge has data.
type edgeTable struct {
	from, to []uintptr
	data     []cu.CUgraphEdgeData
	num      *uintptr
}

func (t edgeTable) fill(froms, tos []*node, data []cu.CUgraphEdgeData) result {
	switch {
	case t.num == nil:
		return errInvalidValue
	case t.from == nil && t.to == nil:
		*t.num = uintptr(len(data))
		return success
	case t.data == nil && slices.ContainsFunc(data, func(d cu.CUgraphEdgeData) bool { return d != cu.CUgraphEdgeData{} }):
		return errLossyQuery
	}
	clear(t.from)
	clear(t.to)
	n := min(int(*t.num), len(data))
	for i := range n {
		if t.from != nil {
			t.from[i] = froms[i].handle
		}
		if t.to != nil {
			t.to[i] = tos[i].handle
		}
		if t.data != nil {
			t.data[i] = data[i]
		}
	}
	*t.num = uintptr(n)
	return success
}

// table reads the arguments of a query. A negative index means that the query has no such argument.
func table(c call, from, to, data, num int) edgeTable {
	t := edgeTable{num: at[uintptr](c, num)}
	if t.num == nil {
		return t
	}
	n := int(*t.num)
	if from >= 0 {
		t.from = list[uintptr](c, from, n)
	}
	if to >= 0 {
		t.to = list[uintptr](c, to, n)
	}
	if data >= 0 {
		t.data = list[cu.CUgraphEdgeData](c, data, n)
	}
	return t
}

func cuGraphGetEdgesV1(c call) result { return getEdges(c, -1, 3) }
func cuGraphGetEdgesV2(c call) result { return getEdges(c, 3, 4) }

func getEdges(c call, dataArg, numArg int) result {
	g, r := graphAt(c, 0)
	if r != success {
		return r
	}
	if (c.Ptr(1) == nil) != (c.Ptr(2) == nil) {
		return errInvalidValue
	}
	var froms, tos []*node
	var data []cu.CUgraphEdgeData
	for _, n := range g.nodes {
		for _, d := range n.dependents {
			froms, tos, data = append(froms, n), append(tos, d.node), append(data, d.data)
		}
	}
	return table(c, 1, 2, dataArg, numArg).fill(froms, tos, data)
}

func cuGraphNodeGetDependenciesV1(c call) result { return getNeighbours(c, -1, 2, dependenciesOf) }
func cuGraphNodeGetDependenciesV2(c call) result { return getNeighbours(c, 2, 3, dependenciesOf) }

func cuGraphNodeGetDependentNodesV1(c call) result { return getNeighbours(c, -1, 2, dependentsOf) }
func cuGraphNodeGetDependentNodesV2(c call) result { return getNeighbours(c, 2, 3, dependentsOf) }

func dependenciesOf(n *node) []edge { return n.deps }
func dependentsOf(n *node) []edge   { return n.dependents }

func getNeighbours(c call, dataArg, numArg int, of func(*node) []edge) result {
	n, r := nodeAt(c, 0)
	if r != success {
		return r
	}
	var nodes []*node
	var data []cu.CUgraphEdgeData
	for _, d := range of(n) {
		nodes, data = append(nodes, d.node), append(data, d.data)
	}
	return table(c, 1, -1, dataArg, numArg).fill(nodes, nil, data)
}

func cuGraphAddDependenciesV1(c call) result    { return changeEdges(c, -1, 3, (*graph).connect) }
func cuGraphAddDependenciesV2(c call) result    { return changeEdges(c, 3, 4, (*graph).connect) }
func cuGraphRemoveDependenciesV1(c call) result { return changeEdges(c, -1, 3, (*graph).disconnectAny) }

func cuGraphRemoveDependenciesV2(c call) result {
	if c.Ptr(3) == nil {
		return changeEdges(c, -1, 4, (*graph).disconnectAny)
	}
	return changeEdges(c, 3, 4, (*graph).disconnect)
}

// changeEdges takes (graph, from, to, [data,] count) and applies change to each pair of nodes.
func changeEdges(c call, dataArg, countArg int, change func(g *graph, from, to *node, data cu.CUgraphEdgeData) result) result {
	g, r := graphAt(c, 0)
	n := int(c.Word(countArg))
	if r != success || n == 0 {
		return r
	}
	froms, tos := list[uintptr](c, 1, n), list[uintptr](c, 2, n)
	if froms == nil || tos == nil {
		return errInvalidValue
	}
	var data []cu.CUgraphEdgeData
	if dataArg >= 0 {
		data = list[cu.CUgraphEdgeData](c, dataArg, n)
	}
	for i := range n {
		from, to := find[node](c.e, froms[i]), find[node](c.e, tos[i])
		if from == nil || to == nil || from.graph != g || to.graph != g {
			return errInvalidValue
		}
		var d cu.CUgraphEdgeData
		if data != nil {
			d = data[0] // driver 580 uses the data of the first edge for all edges
		}
		if r := change(g, from, to, d); r != success {
			return r
		}
	}
	return success
}

func (g *graph) connect(from, to *node, data cu.CUgraphEdgeData) result {
	if from == to || slices.ContainsFunc(to.deps, func(d edge) bool { return d.node == from }) {
		return errInvalidValue
	}
	if r := checkEdge(from, data); r != success {
		return r
	}
	if r := checkTarget(to.params, edge{from, data}); r != success {
		return r
	}
	to.deps = append(to.deps, edge{from, data})
	from.dependents = append(from.dependents, edge{to, data})
	return success
}

func (g *graph) disconnect(from, to *node, data cu.CUgraphEdgeData) result {
	if g.hasMemory() {
		return errNotSupported
	}
	i := slices.Index(to.deps, edge{from, data})
	if i < 0 {
		return errInvalidValue
	}
	to.deps = slices.Delete(to.deps, i, i+1)
	j := slices.Index(from.dependents, edge{to, data})
	from.dependents = slices.Delete(from.dependents, j, j+1)
	return success
}

// disconnectAny removes an edge without comparing its data, as driver 580 does when the caller
// passes no edge data.
func (g *graph) disconnectAny(from, to *node, _ cu.CUgraphEdgeData) result {
	i := slices.IndexFunc(to.deps, func(d edge) bool { return d.node == from })
	if i < 0 {
		return g.disconnect(from, to, cu.CUgraphEdgeData{})
	}
	return g.disconnect(from, to, to.deps[i].data)
}
