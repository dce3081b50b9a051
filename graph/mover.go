package graph

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

// mover makes the nodes of one graph again in another, which is the body of a
// conditional node. Both are locked.
type mover struct {
	from, to *Graph
	twins    map[driver.CUgraphNode]driver.CUgraphNode
	made     []driver.CUgraphNode
}

// move makes the nodes, with what they refer to and the edges between them.
func (m *mover) move(b *body, deps *driver.CUgraphNode, n int) error {
	o := m.to.owners()
	o.holdSub(m.from.keep.own)
	o.commitLoose()
	raws, err := m.from.handles()
	if err != nil {
		return err
	}
	later := make(map[driver.CUgraphNode]*planned, len(b.nested))
	for i := range b.nested {
		later[b.nested[i].at] = &b.nested[i]
	}
	for _, raw := range raws {
		if err := m.node(raw, later[raw]); err != nil {
			return err
		}
	}
	if err := m.edges(); err != nil {
		return err
	}
	return m.behind(raws, unsafe.Slice(deps, n))
}

// node makes one node, without edges.
func (m *mover) node(raw driver.CUgraphNode, p *planned) error {
	if p != nil {
		return m.conditional(raw, p)
	}
	var t Type
	if err := m.from.d.CuGraphNodeGetType(raw, &t); err != nil {
		return err
	}
	twin, err := m.twin(raw, t)
	if err != nil {
		return err
	}
	m.enter(raw, m.to.added(twin).raw)
	return nil
}

func (m *mover) enter(raw, twin driver.CUgraphNode) {
	m.twins[raw] = twin
	m.made = append(m.made, twin)
}

// twin adds a node with the parameters of another.
func (m *mover) twin(raw driver.CUgraphNode, t Type) (n driver.CUgraphNode, err error) {
	d, to, ctx := m.to.d, m.to.raw, m.to.ctx.Raw()
	switch t {
	case driver.CU_GRAPH_NODE_TYPE_KERNEL:
		return m.kernel(raw)
	case driver.CU_GRAPH_NODE_TYPE_MEMCPY:
		var p driver.CUDA_MEMCPY3D
		if err = d.CuGraphMemcpyNodeGetParams(raw, &p); err == nil {
			err = d.CuGraphAddMemcpyNode(&n, to, nil, 0, &p, ctx)
		}
	case driver.CU_GRAPH_NODE_TYPE_MEMSET:
		var p driver.CUDA_MEMSET_NODE_PARAMS
		if err = d.CuGraphMemsetNodeGetParams(raw, &p); err == nil {
			err = d.CuGraphAddMemsetNode(&n, to, nil, 0, &p, ctx)
		}
	case driver.CU_GRAPH_NODE_TYPE_GRAPH:
		var child driver.CUgraph
		if err = d.CuGraphChildGraphNodeGetGraph(raw, &child); err == nil {
			err = d.CuGraphAddChildGraphNode(&n, to, nil, 0, child)
		}
	case driver.CU_GRAPH_NODE_TYPE_EMPTY:
		err = d.CuGraphAddEmptyNode(&n, to, nil, 0)
	default:
		err = notInBody(t)
	}
	return n, err
}

// notInBody refuses the sorts of nodes that CUDA does not take in a body, and
// conditional nodes that were not recorded by a Scope: nobody tells their
// bodies.
func notInBody(t Type) error {
	if t == driver.CU_GRAPH_NODE_TYPE_CONDITIONAL {
		return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"a conditional node was recorded in the body past the Scope; use its If, IfElse, While and Switch")
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
		"a node of type %v was recorded, which CUDA does not take in the body of a conditional node: there can be kernels, copies, fills, empty nodes, child graphs and conditional nodes", t)
}

func (m *mover) kernel(raw driver.CUgraphNode) (n driver.CUgraphNode, err error) {
	d := m.to.d
	var p driver.CUDA_KERNEL_NODE_PARAMS
	if err := d.CuGraphKernelNodeGetParams(raw, &p); err != nil {
		return 0, err
	}
	if err := d.CuGraphAddKernelNode(&n, m.to.raw, nil, 0, &p); err != nil {
		return 0, err
	}
	if err := d.CuGraphKernelNodeCopyAttributes(n, raw); err != nil {
		return 0, join([]error{err, d.CuGraphDestroyNode(n)})
	}
	return n, nil
}

// conditional makes a node that was planned, and its bodies.
func (m *mover) conditional(raw driver.CUgraphNode, p *planned) error {
	if err := p.cond.usable(m.to); err != nil {
		return p.form.addError(m.to, err)
	}
	k, err := m.to.conditional(p.form, p.cond, nil, nil, 0)
	if err != nil {
		return p.form.addError(m.to, err)
	}
	m.enter(raw, k.node.raw)
	return k.fill(p.bodies)
}

// fill makes what was captured in the bodies of a new node.
func (k *conditional) fill(bodies []*body) error {
	for i, b := range bodies {
		b.g.take()
		m := &mover{from: b.g, to: k.bodies[i], twins: make(map[driver.CUgraphNode]driver.CUgraphNode)}
		err := m.move(b, nil, 0)
		b.g.mu.Unlock()
		if err != nil {
			return fmt.Errorf("body %d of a %v node: %w", i, k.form, err)
		}
	}
	return nil
}

// edges makes the edges between the nodes.
func (m *mover) edges() error {
	var n uintptr
	if err := m.from.getEdges(nil, nil, nil, &n); err != nil || n == 0 {
		return err
	}
	from, to := make([]driver.CUgraphNode, n), make([]driver.CUgraphNode, n)
	data := make([]driver.CUgraphEdgeData, n)
	if err := m.from.getEdges(&from[0], &to[0], &data[0], &n); err != nil {
		return err
	}
	for i := range from {
		from[i], to[i] = m.twins[from[i]], m.twins[to[i]]
	}
	return m.to.d.CuGraphAddDependencies(m.to.raw, &from[0], &to[0], &data[0], n)
}

// behind has the roots run after deps.
func (m *mover) behind(raws, deps []driver.CUgraphNode) error {
	if len(raws) == 0 || len(deps) == 0 {
		return nil
	}
	n := uintptr(len(raws))
	roots := make([]driver.CUgraphNode, n)
	if err := m.from.d.CuGraphGetRootNodes(m.from.raw, &roots[0], &n); err != nil {
		return err
	}
	var from, to []driver.CUgraphNode
	for _, r := range roots[:n] {
		for _, d := range deps {
			from, to = append(from, d), append(to, m.twins[r])
		}
	}
	return m.to.d.CuGraphAddDependencies(m.to.raw, &from[0], &to[0], nil, uintptr(len(from)))
}

// undo destroys what was made.
func (m *mover) undo() error {
	var errs []error
	for i := len(m.made) - 1; i >= 0; i-- {
		errs = append(errs, m.to.remove(m.made[i]))
	}
	return join(errs)
}
