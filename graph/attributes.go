package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Attribute returns a launch attribute of a kernel node, such as CU_LAUNCH_ATTRIBUTE_PRIORITY. For
// an attribute that was never set, it returns the driver's default.
func (n Node) Attribute(id cu.CUlaunchAttributeID) (v cu.CUlaunchAttributeValue, err error) {
	err = n.get(cu.CU_GRAPH_NODE_TYPE_KERNEL, func(d *driver.Driver) error {
		return d.CuGraphKernelNodeGetAttribute(n.handle(), id, &v)
	})
	return v, named(id, err)
}

// SetAttribute sets a launch attribute of a kernel node. It affects only Execs instantiated later,
// because updates of an Exec cannot change most attributes. Adding or setting a Launch already sets
// the attributes of its LaunchConfig.
func (n Node) SetAttribute(id cu.CUlaunchAttributeID, v cu.CUlaunchAttributeValue) error {
	err := n.get(cu.CU_GRAPH_NODE_TYPE_KERNEL, func(d *driver.Driver) error {
		n.g.noteAttributes(n.handle(), attributeBit(id))
		return d.CuGraphKernelNodeSetAttribute(n.handle(), id, &v)
	})
	return named(id, err)
}

func named(id cu.CUlaunchAttributeID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %w", id, err)
}

// CopyAttributes copies the launch attributes from another kernel node to n. The nodes may be in
// different graphs. Their kernels must share a context.
func (n Node) CopyAttributes(from Node) error {
	if n.g == nil || from.g == nil {
		return errNoNode
	}
	if n.g.latchNow() == from.g.latchNow() {
		return n.copyAttributes(from)
	}
	unlock, err := lockBoth(n.g, from.g)
	if err != nil {
		return err
	}
	defer unlock()
	if err := n.g.check(n); err != nil {
		return err
	}
	return n.copyAttributesLocked(from)
}

func (n Node) copyAttributes(from Node) error {
	if err := n.lock(); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	if err := from.g.closed(); err != nil {
		return err
	}
	return n.copyAttributesLocked(from)
}

func (n Node) copyAttributesLocked(from Node) error {
	if err := from.g.check(from); err != nil {
		return err
	}
	err := n.g.d.CuGraphKernelNodeCopyAttributes(n.handle(), from.handle())
	if err == nil {
		n.g.noteAttributes(n.handle(), anyAttribute) // the driver cannot list the attributes of from
	}
	n.g.alive()
	from.g.alive()
	if err != nil {
		err = n.g.explainType(n, cu.CU_GRAPH_NODE_TYPE_KERNEL, err)
		err = from.g.explainType(from, cu.CU_GRAPH_NODE_TYPE_KERNEL, err)
		return fmt.Errorf("cannot give %v the attributes of %v: %w", n, from, err)
	}
	return nil
}

// noteAttributes records that the attributes ids of n may be set. A kernel node keeps a launch
// attribute until another value is set, and CUDA cannot remove attributes. But a node that is set
// to a Launch must have only that Launch's attributes. So the graph tracks which nodes have
// attributes, and resets them by copying the attributes of a new kernel node.

func (g *Graph) noteAttributes(n cu.CUgraphNode, ids attributeSet) {
	if ids == 0 {
		return
	}
	if g.attributes == nil {
		g.attributes = make(map[cu.CUgraphNode]attributeSet)
	}
	g.attributes[n] |= ids
}

type attributeSet uint64

const anyAttribute = ^attributeSet(0)

func attributeBit(id cu.CUlaunchAttributeID) attributeSet { return 1 << (uint(id) % 64) }

func attributesOf(l *driver.Launch) (set attributeSet) {
	for i := range l.Block().Attributes() {
		set |= attributeBit(l.Block().Attributes()[i].Id)
	}
	return set
}

// resetAttributes clears all attributes of n if n has a cluster dimension or an attribute that l
// lacks. The old cluster dimension might not fit the grid of l, so resetAttributes must run before
// l's parameters are set. If setting the parameters then fails, the node has no attributes.
func (g *Graph) resetAttributes(n cu.CUgraphNode, l *driver.Launch) error {
	keep := attributesOf(l) &^ attributeBit(cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
	if g.attributes[n]&^keep == 0 {
		return nil
	}
	if err := g.clearAttributes(n, l); err != nil {
		return err
	}
	delete(g.attributes, n)
	return nil
}

// clearAttributes resets the attributes of n by copying those of a new kernel node in a temporary
// graph.
func (g *Graph) clearAttributes(n cu.CUgraphNode, l *driver.Launch) error {
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

func (g *Graph) addBareKernel(n *cu.CUgraphNode, l *driver.Launch) error {
	if g.v2 {
		return g.d.CuGraphAddKernelNode(n, g.raw, nil, 0, &l.Block().Node)
	}
	return g.d.CuGraphAddKernelNode_v10000(n, g.raw, nil, 0, v1(&l.Block().Node))
}

// checkAttributes returns an error if a cooperative or cluster attribute of l differs from the
// value in n. Setting the parameters of the Exec's node would silently ignore the difference.
func (g *Graph) checkAttributes(n Node, l *driver.Launch) error {
	for i := range l.Block().Attributes() {
		a := &l.Block().Attributes()[i]
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
				"the node has another %v, which only instantiating the graph anew can change (Node.Set, then Instantiate)", a.Id)
		}
	}
	return nil
}
