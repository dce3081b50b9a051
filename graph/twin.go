package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// twin adds a node with the parameters of another, of the other graph.
func (m *mover) twin(raw cu.CUgraphNode, t Type) (n cu.CUgraphNode, err error) {
	d, to, ctx := m.to.d, m.to.raw, m.to.ctx.Raw()
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		return m.kernel(raw)
	case cu.CU_GRAPH_NODE_TYPE_GRAPH:
		return m.child(raw)
	case cu.CU_GRAPH_NODE_TYPE_EMPTY:
		err = d.CuGraphAddEmptyNode(&n, to, nil, 0)
	case cu.CU_GRAPH_NODE_TYPE_MEMCPY:
		var p cu.CUDA_MEMCPY3D
		if err = d.CuGraphMemcpyNodeGetParams(raw, &p); err == nil {
			err = d.CuGraphAddMemcpyNode(&n, to, nil, 0, &p, ctx)
		}
	case cu.CU_GRAPH_NODE_TYPE_MEMSET:
		var p cu.CUDA_MEMSET_NODE_PARAMS
		if err = d.CuGraphMemsetNodeGetParams(raw, &p); err == nil {
			err = d.CuGraphAddMemsetNode(&n, to, nil, 0, &p, ctx)
		}
	default:
		err = notInBody(t)
	}
	return n, err
}

func (m *mover) kernel(raw cu.CUgraphNode) (n cu.CUgraphNode, err error) {
	d := m.to.d
	var p cu.CUDA_KERNEL_NODE_PARAMS
	if m.to.v2 {
		if err = d.CuGraphKernelNodeGetParams(raw, &p); err == nil {
			err = d.CuGraphAddKernelNode(&n, m.to.raw, nil, 0, &p)
		}
	} else {
		if err = d.CuGraphKernelNodeGetParams_v10000(raw, v1(&p)); err == nil {
			err = d.CuGraphAddKernelNode_v10000(&n, m.to.raw, nil, 0, v1(&p))
		}
	}
	if err != nil {
		return 0, err
	}
	if err := d.CuGraphKernelNodeCopyAttributes(n, raw); err != nil {
		return 0, join([]error{err, d.CuGraphDestroyNode(n)})
	}
	return n, nil
}

// child makes a child graph node. The driver (580) takes no graph that lies in
// a node for another one, so it gets a copy of that.
func (m *mover) child(raw cu.CUgraphNode) (n cu.CUgraphNode, err error) {
	from, to := m.from.like(0), m.to.like(0)
	if err := m.from.d.CuGraphChildGraphNodeGetGraph(raw, &from.raw); err != nil {
		return 0, err
	}
	if err := m.to.d.CuGraphCreate(&to.raw, 0); err != nil {
		return 0, err
	}
	if _, err = newMover(from, to).nodes(nil); err == nil {
		err = m.to.d.CuGraphAddChildGraphNode(&n, m.to.raw, nil, 0, to.raw)
	}
	destroyed := m.to.ctx.Guarded().CuGraphDestroy(to.raw)
	return n, join([]error{err, destroyed})
}

// like is a graph for the mover alone.
func (g *Graph) like(raw driver.CUgraph) *Graph {
	return &Graph{raw: raw, d: g.d, ctx: g.ctx, v2: g.v2, part: true, outer: g.outermost()}
}

// bodyTypes are the sorts of nodes that CUDA takes in bodies.
var bodyTypes = map[Type]bool{
	cu.CU_GRAPH_NODE_TYPE_KERNEL: true, cu.CU_GRAPH_NODE_TYPE_MEMCPY: true,
	cu.CU_GRAPH_NODE_TYPE_MEMSET: true, cu.CU_GRAPH_NODE_TYPE_GRAPH: true,
	cu.CU_GRAPH_NODE_TYPE_EMPTY: true,
}

// notInBody says that CUDA does not take such a node in a body, or that nobody
// can make it again: a conditional node that was not recorded by a Scope has
// bodies that nobody tells.
func notInBody(t Type) error {
	if t == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
		return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"a conditional node was recorded past the Scope; use its If, IfElse, While and Switch")
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "%v: CUDA takes no such node in the body of a conditional node, only kernels, copies, fills, empty nodes, child graphs and conditional nodes", t)
}

// fitsBody refuses nodes of other sorts, in a graph or in its child graphs,
// before anything is made of them.
func (g *Graph) fitsBody() error {
	g.lockLatch()
	defer g.mu.Unlock()
	return g.allFit()
}

func (g *Graph) allFit() error {
	raws, err := g.handles()
	if err != nil {
		return err
	}
	for _, raw := range raws {
		if err := g.nodeFits(raw); err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) nodeFits(raw cu.CUgraphNode) error {
	var t Type
	if err := g.d.CuGraphNodeGetType(raw, &t); err != nil {
		return err
	}
	if !bodyTypes[t] {
		return notInBody(t)
	}
	if t != cu.CU_GRAPH_NODE_TYPE_GRAPH {
		return nil
	}
	child := g.like(0)
	if err := g.d.CuGraphChildGraphNodeGetGraph(raw, &child.raw); err != nil {
		return err
	}
	return child.allFit()
}

// bodyTakes refuses operations whose nodes CUDA does not take in a body; it
// would say so when the graph is instantiated.
func bodyTakes(op driver.Op) error {
	switch op.(type) {
	case nil, *driver.Launch, *driver.CopyOp, *driver.FillOp:
		return nil
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
		"the body of a conditional node takes kernels, copies, fills, empty nodes, child graphs and conditional nodes, and no %T", op)
}

// allowedIn is bodyTakes for the operations of a plan.
func (p *Plan) allowedIn(g *Graph) error {
	if !g.part || !g.inBody() {
		return nil
	}
	for i := range p.kinds {
		if err := bodyTakes(p.kinds[i].op); err != nil {
			return fmt.Errorf("item %d: %w", p.kinds[i].item, err)
		}
	}
	return nil
}
