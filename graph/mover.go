package graph

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

// mover makes the nodes of one graph again in another. Both are locked.
type mover struct {
	from, to *Graph
	twins    map[driver.CUgraphNode]driver.CUgraphNode
	made     []driver.CUgraphNode
}

func newMover(from, to *Graph) *mover {
	return &mover{from: from, to: to, twins: make(map[driver.CUgraphNode]driver.CUgraphNode)}
}

// move makes the nodes of a body, with what they refer to, behind deps.
func (m *mover) move(b *body, deps *driver.CUgraphNode, n int) error {
	o := m.to.owners()
	o.holdSub(m.from.keep.own)
	o.commitLoose()
	m.to.prints.copiedFrom(m.from.prints)
	raws, err := m.nodes(b.nested)
	if err != nil {
		return err
	}
	return m.behind(raws, unsafe.Slice(deps, n))
}

// nodes makes the nodes with the edges between them; some take the place of an
// empty one.
func (m *mover) nodes(nested []planned) ([]driver.CUgraphNode, error) {
	later := make(map[driver.CUgraphNode]*planned, len(nested))
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
		if err := k.fillBody(i, b); err != nil {
			return fmt.Errorf("body %d of a %v node: %w", i, k.form, err)
		}
	}
	return nil
}

// fillBody is fill for one of them. The graph of what was captured is younger
// than the one that k is in, so it is locked after that.
func (k *conditional) fillBody(i int, b *body) error {
	if err := b.g.lock(); err != nil {
		return err
	}
	defer b.g.mu.Unlock()
	return newMover(b.g, k.bodies[i]).move(b, nil, 0)
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
	if m.to.d.Has(driver.FnCuGraphAddDependencies) {
		return byData(from, to, data, func(from, to *driver.CUgraphNode, data *driver.CUgraphEdgeData, n uintptr) error {
			return m.to.d.CuGraphAddDependencies(m.to.raw, from, to, data, n)
		})
	}
	return m.to.d.CuGraphAddDependencies_v10000(m.to.raw, &from[0], &to[0], uintptr(len(from)))
}

// behind has the roots run after deps.
func (m *mover) behind(raws, deps []driver.CUgraphNode) error {
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
