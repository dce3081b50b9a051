package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// adopt makes the nodes of what was captured in body i of a new node, whose graph
// is locked, and has the Graph that was captured be the body's from then on: the
// nodes that the program took while it recorded are those of the body, under the
// names it gave them. The captured graph is younger than the one that k is in, so
// it is locked after that.
func (k *conditional) adopt(i int, b *body) error {
	g := b.g
	if err := g.lock(); err != nil {
		return err
	}
	latch, life := g.mu, g.life
	defer latch.Unlock()
	outer := k.node.g.outermost()
	if err := outer.retainUsers(g.users); err != nil {
		return err
	}
	o := outer.changeRefs()
	o.RetainOf(g.keep.refs)
	o.CommitLoose()
	m := g.become(k.bodies[i])
	k.bodies[i] = g
	_, err := m.nodes(b.nested)
	return join([]error{err, life.Close()}) // on failure the new node is lost, too
}

// retainUsers has the graph hold what one held that is about to be destroyed.
func (g *Graph) retainUsers(users map[driver.CUuserObject]int) error {
	for u, n := range users {
		if n == 0 {
			continue
		}
		if err := g.ctx.Guarded().CuGraphRetainUserObject(g.raw, u, uint32(n), 0); err != nil {
			return err
		}
		if g.users == nil {
			g.users = make(map[driver.CUuserObject]int)
		}
		g.users[u] += n
	}
	return nil
}

// become makes a captured graph the view of a body, which is empty. The mover that
// it returns makes the nodes, each under the number it has. What is left of the
// captured graph is its Lifetime, whose Close destroys it.
func (g *Graph) become(to *Graph) *mover {
	from := g.like(g.raw)
	from.tuned = g.tuned
	m := newMover(from, g)
	m.numbers = make(map[cu.CUgraphNode]uint32, len(g.raws))
	for i, raw := range g.raws {
		if raw != 0 {
			m.numbers[raw] = uint32(i)
		}
	}
	for _, p := range g.parts {
		p.end(fmt.Errorf("%v lay in a node that was recorded for %v, take that of the node there: %w", p, to, driver.ErrClosed))
	}
	clear(g.raws)
	g.parts, g.index, g.tuned, g.table, g.users = nil, nil, nil, nil, nil
	g.raw, g.part, g.outer, g.in = to.raw, true, to.outer, to.in
	to.outer.mixed = to.outer.mixed || g.mixed
	to.outer.enterPart(g)
	return m
}

// end ends a graph in a node whose driver's graph goes.
func (g *Graph) end(why error) { g.shut, g.lost = true, why }

// endAs gives a reason for which a graph that is about to be closed has no nodes
// any more.
func (g *Graph) endAs(why error) {
	g.lockLatch()
	defer g.mu.Unlock()
	g.lost = why
}
