package graph

import "github.com/purecuda/cuda/driver"

// conds are the conditional nodes of an outermost graph and of the graphs in
// its nodes. It is changed under the lock of the graph; nil is none.
type conds struct {
	byNode map[Node]*conditional
	byCond map[Cond]*conditional
	lone   *lone
}

// conditional is a conditional node.
type conditional struct {
	node   Node
	cond   Cond
	form   form
	bodies []*Graph
}

// of returns the conditional node that n is, or nil.
func (s *conds) of(n Node) *conditional {
	if s == nil {
		return nil
	}
	return s.byNode[n]
}

// user returns the node that has the condition.
func (s *conds) user(c Cond) (Node, bool) {
	if s == nil || s.byCond[c] == nil {
		return Node{}, false
	}
	return s.byCond[c].node, true
}

func (g *Graph) enterConditional(k *conditional) {
	if g.conds == nil {
		g.conds = &conds{make(map[Node]*conditional), make(map[Cond]*conditional), new(lone)}
	}
	g.conds.byNode[k.node] = k
	g.conds.byCond[k.cond] = k
}

// forgetConditionals takes out a node that was destroyed and those in it. Other
// nodes may have their conditions then.
func (s *conds) forgetConditionals(n Node) {
	if s == nil {
		return
	}
	for m, k := range s.byNode {
		if m == n || m.g.within(n) {
			delete(s.byNode, m)
			delete(s.byCond, k.cond)
		}
	}
}

// holds returns a conditional node that is in g at any depth, or nil.
func (g *Graph) holds() *conditional {
	s := g.outermost().conds
	if s == nil {
		return nil
	}
	for m, k := range s.byNode {
		if m.g == g || m.g.inGraph(g) {
			return k
		}
	}
	return nil
}

// inGraph reports whether a part lies in a node of g, at any depth.
func (p *Graph) inGraph(g *Graph) bool {
	for ; p.part; p = p.in.g {
		if p.in.g == g {
			return true
		}
	}
	return false
}

// noConditionals refuses what CUDA does to no graph with a conditional node.
func (g *Graph) noConditionals(cannot string) error {
	k := g.holds()
	if k == nil {
		return nil
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "%v %s, because %v in it is a %v node", g, cannot, k.node, k.form)
}
