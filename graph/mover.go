package graph

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// mover makes the nodes of one graph again in another. Both are locked.
type mover struct {
	from, to *Graph
	twins    map[cu.CUgraphNode]cu.CUgraphNode
	made     []cu.CUgraphNode
	numbers  map[cu.CUgraphNode]uint32 // of nodes that have one in to, which is not taken
}

func newMover(from, to *Graph) *mover {
	return &mover{from: from, to: to, twins: make(map[cu.CUgraphNode]cu.CUgraphNode)}
}

// move makes the nodes of a body, with what they refer to, behind deps.
func (m *mover) move(b *body, deps *cu.CUgraphNode, n int) error {
	o := m.to.changeRefs()
	o.RetainOf(m.from.keep.refs)
	o.CommitLoose()
	m.to.accesses.CopiedFrom(m.from.accesses)
	raws, err := m.nodes(b.nested)
	if err != nil {
		return err
	}
	return m.behind(raws, unsafe.Slice(deps, n))
}

// nodes makes the nodes with the edges between them; some take the place of an
// empty one.
func (m *mover) nodes(nested []planned) ([]cu.CUgraphNode, error) {
	later := make(map[cu.CUgraphNode]*planned, len(nested))
	for i := range nested {
		later[nested[i].at] = &nested[i]
	}
	raws, err := m.from.handles()
	if err != nil {
		return nil, err
	}
	for _, raw := range raws {
		if err := m.node(raw, later[raw]); err != nil {
			return nil, err
		}
	}
	return raws, m.edges()
}

// node makes one node, without edges.
func (m *mover) node(raw cu.CUgraphNode, p *planned) error {
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
	m.enter(raw, twin)
	return nil
}

// enter enters a new node in the table of its graph.
func (m *mover) enter(raw, twin cu.CUgraphNode) Node {
	m.twins[raw] = twin
	m.made = append(m.made, twin)
	i, numbered := m.numbers[raw]
	if !numbered {
		return m.to.added(twin)
	}
	m.to.raws[i] = twin
	if set, tuned := m.from.tuned[raw]; tuned {
		m.to.tune(twin, set)
	}
	return Node{m.to, i}
}

// conditional makes a node that was planned, and its bodies.
func (m *mover) conditional(raw cu.CUgraphNode, p *planned) error {
	if err := p.cond.usable(m.to); err != nil {
		return p.form.addError(m.to, err)
	}
	twin, bodies, err := m.to.addConditionalRaw(p.form, p.cond, nil, nil, 0)
	if err != nil {
		return p.form.addError(m.to, err)
	}
	return m.enter(raw, twin).enterBodies(p.form, p.cond, bodies).fill(p.bodies)
}

// fill makes what was captured in the bodies of a new node.
func (k *conditional) fill(bodies []*body) error {
	for i, b := range bodies {
		if err := k.adopt(i, b); err != nil {
			return fmt.Errorf("body %d of a %v node: %w", i, k.form, err)
		}
	}
	return nil
}

// edges makes the edges between the nodes.
func (m *mover) edges() error {
	from, to, data, err := m.from.rawEdgeLists()
	if err != nil || len(from) == 0 {
		return err
	}
	for i := range from {
		from[i], to[i] = m.twins[from[i]], m.twins[to[i]]
	}
	if m.to.d.Has(cu.FnCuGraphAddDependencies) {
		return byData(from, to, data, func(from, to *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) error {
			return m.to.d.CuGraphAddDependencies(m.to.raw, from, to, data, n)
		})
	}
	return m.to.d.CuGraphAddDependencies_v10000(m.to.raw, &from[0], &to[0], uintptr(len(from)))
}

// behind has the roots run after deps.
func (m *mover) behind(raws, deps []cu.CUgraphNode) error {
	if len(raws) == 0 || len(deps) == 0 {
		return nil
	}
	roots, err := m.from.handlesBy((*driver.Driver).CuGraphGetRootNodes)
	if err != nil {
		return err
	}
	g := m.to
	g.from, g.to = g.from[:0], g.to[:0]
	for _, r := range roots {
		for _, d := range deps {
			g.from, g.to = append(g.from, d), append(g.to, m.twins[r])
		}
	}
	return g.addEdges()
}

// undo destroys what was made.
func (m *mover) undo() error {
	var errs []error
	for i := len(m.made) - 1; i >= 0; i-- {
		errs = append(errs, m.to.remove(m.made[i]))
	}
	return join(errs)
}
