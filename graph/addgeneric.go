package graph

import "github.com/purecuda/cuda/driver/cu"

// addGeneric adds a node of any type by its tagged parameters (CUDA 12.2). Dependencies have data
// since CUDA 12.3. Without data it uses the older ABI.
func (g *Graph) addGeneric(node, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr, p *cu.CUgraphNodeParams) error {
	if data == nil && !g.d.Has(cu.FnCuGraphAddNode) {
		return g.d.CuGraphAddNode_v12020(node, g.raw, from, n, p)
	}
	return g.d.CuGraphAddNode(node, g.raw, from, data, n, p)
}
