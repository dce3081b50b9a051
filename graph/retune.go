package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// A launch attribute stays with a kernel node until another value is set, and no call removes one.
// A node that is set to a Launch must have that Launch's attributes and no others. So the graph
// knows which nodes have any, and resets those to the attributes of a kernel that was never given
// one.

// tune notes that a node was given attributes.
func (g *Graph) tune(n cu.CUgraphNode, ids attributeSet) {
	if ids == 0 {
		return
	}
	if g.tuned == nil {
		g.tuned = make(map[cu.CUgraphNode]attributeSet)
	}
	g.tuned[n] |= ids
}

// attributeSet has a bit for each attribute.
type attributeSet uint64

const anyAttribute = ^attributeSet(0)

func attributeBit(id cu.CUlaunchAttributeID) attributeSet { return 1 << (uint(id) % 64) }

func attributesOf(l *driver.Launch) (set attributeSet) {
	for i := range l.Attributes() {
		set |= attributeBit(l.Attributes()[i].Id)
	}
	return set
}

// retune takes away what attributes a node has beside those of l, and its cluster,
// which need not fit the grid of l. It comes before l's parameters; should those
// be refused, the node is left without the attributes.
func (g *Graph) retune(n cu.CUgraphNode, l *driver.Launch) error {
	keep := attributesOf(l) &^ attributeBit(cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
	if g.tuned[n]&^keep == 0 {
		return nil
	}
	if err := g.cleanSlate(n, l); err != nil {
		return err
	}
	delete(g.tuned, n)
	return nil
}

// cleanSlate gives a node the attributes of a new one in a graph of its own.
func (g *Graph) cleanSlate(n cu.CUgraphNode, l *driver.Launch) error {
	var raw driver.CUgraph
	if err := g.d.CuGraphCreate(&raw, 0); err != nil {
		return err
	}
	fresh := Graph{d: g.d, ctx: g.ctx, raw: raw, v2: g.v2}
	var node cu.CUgraphNode
	err := fresh.addBareKernel(&node, l)
	if err == nil {
		err = g.d.CuGraphKernelNodeCopyAttributes(n, node)
	}
	return join([]error{err, g.ctx.Guarded().CuGraphDestroy(raw)})
}

// addBareKernel adds a kernel without its attributes.
func (g *Graph) addBareKernel(n *cu.CUgraphNode, l *driver.Launch) error {
	if g.v2 {
		return g.d.CuGraphAddKernelNode(n, g.raw, nil, 0, &l.Block().Node)
	}
	return g.d.CuGraphAddKernelNode_v10000(n, g.raw, nil, 0, v1(&l.Block().Node))
}

// checkAttributes refuses a launch whose attributes the node of an Exec does not
// have: setting a node's parameters cannot give it any, and would leave them out
// without a word.
func (g *Graph) checkAttributes(n Node, l *driver.Launch) error {
	for i := range l.Attributes() {
		a := &l.Attributes()[i]
		if a.Id != cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE && a.Id != cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION {
			continue
		}
		var has cu.CUlaunchAttributeValue
		if err := g.d.CuGraphKernelNodeGetAttribute(n.handle(), a.Id, &has); err != nil {
			return err
		}
		if a.Id == cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE && *has.Cooperative() != *a.Value.Cooperative() ||
			a.Id == cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && *has.ClusterDim() != *a.Value.ClusterDim() {
			return refuse(driver.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
				"the node's %v is another, which only instantiating the graph anew can change (Node.Set, then Instantiate)", a.Id)
		}
	}
	return nil
}
