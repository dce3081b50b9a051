package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/access"
)

// inside returns a graph that lies in node n: the copy in a child graph node,
// or the body of a conditional one. Asked for again it is the same Graph, so
// that names and what else is known of its nodes stay.
func (n Node) inside(raw driver.CUgraph) *Graph {
	g, outer := n.g, n.g.outermost()
	if p := outer.parts[raw]; p != nil {
		return p
	}
	p := &Graph{seq: g.seq, life: g.life, ctx: g.ctx, d: g.d, raw: raw,
		keep: g.keep, part: true, mu: g.mu, v2: g.v2, outer: outer, in: n}
	if outer.parts == nil {
		outer.parts = make(map[driver.CUgraph]*Graph)
	}
	outer.parts[raw] = p
	p.accesses = &access.Sets{Loose: g.accesses.InNode(n.i)}
	return p
}

// outermost is the graph that a graph is a part of, or itself.
func (g *Graph) outermost() *Graph {
	if g.part {
		return g.outer
	}
	return g
}

// forgetParts ends the graphs that lie in a node that was destroyed: the driver
// destroyed them, and may give their handles to others.
func (n Node) forgetParts() {
	outer := n.g.outermost()
	outer.removals++
	outer.conds.forgetConditionals(n)
	for raw, p := range outer.parts {
		if p.within(n) {
			p.shut = true
			delete(outer.parts, raw)
		}
	}
}

// within reports whether a part lies in n, at any depth.
func (g *Graph) within(n Node) bool {
	for ; g.part; g = g.in.g {
		if g.in == n {
			return true
		}
	}
	return false
}

// inBody reports whether g lies in a conditional node, at any depth.
func (g *Graph) inBody() bool {
	for ; g.part; g = g.in.g {
		if g.outer.conds.of(g.in) != nil {
			return true
		}
	}
	return false
}

// isBody reports whether g is the body of a conditional node.
func (g *Graph) isBody() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.part && g.outer.conds.of(g.in) != nil
}
