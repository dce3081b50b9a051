package graph

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
)

// kernelNodes contains the access sets of a graph's kernel nodes. A node has a set here only if the
// driver reports the same kernel and addresses for it.
type kernelNodes struct {
	params map[uint32]*cu.CUDA_KERNEL_NODE_PARAMS
	sets   map[uint32]access.Found
}

// kernelSets finds the access sets of a graph's kernel nodes. Most nodes have a recorded set. For
// nodes that the driver created, kernelSets searches the sets of captured operations and of copied
// graphs.
func (g *Graph) kernelSets(nodes []Node) (*kernelNodes, error) {
	k := &kernelNodes{make(map[uint32]*cu.CUDA_KERNEL_NODE_PARAMS), make(map[uint32]access.Found)}
	var rest []Node
	for _, n := range nodes {
		var t Type
		if err := g.d.CuGraphNodeGetType(n.handle(), &t); err != nil {
			return nil, err
		}
		if t != cu.CU_GRAPH_NODE_TYPE_KERNEL {
			continue
		}
		p := new(cu.CUDA_KERNEL_NODE_PARAMS)
		if err := n.kernelParams(n.g.d, p); err != nil {
			return nil, err
		}
		k.params[n.i] = p
		f := g.accesses.Find(n.i)
		switch {
		case f.Set == nil || f.Kernel == nil:
			rest = append(rest, n)
		case f.Fits(p):
			k.sets[n.i] = f
		}
	}
	if len(rest) > 0 && len(g.accesses.Loose) > 0 {
		k.match(rest, g.accesses)
	}
	return k, nil
}

// ambiguous is a group of access sets and nodes with the same kernel and addresses.
type ambiguous struct {
	sets  []access.Found
	nodes []Node
}

// match assigns the loose access sets to the nodes with the same kernel and addresses.
func (k *kernelNodes) match(nodes []Node, p *access.Sets) {
	var all []access.Found
	for _, l := range p.Loose {
		l.Each(func(f access.Found) {
			if f.Kernel != nil {
				all = append(all, f)
			}
		})
	}
	args := access.CommonArgs(all)
	groups := make(map[string]*ambiguous)
	order := make([]*ambiguous, len(all))
	for i, f := range all {
		key := f.Key(args[f.Kernel.Raw()])
		if groups[key] == nil {
			groups[key] = new(ambiguous)
		}
		order[i] = groups[key]
		order[i].sets = append(order[i].sets, f)
	}
	for _, n := range nodes {
		p := k.params[n.i]
		if t := groups[access.NodeKey(p, args[p.Func])]; t != nil {
			t.nodes = append(t.nodes, n)
		}
	}
	inOrder := sameOrder(order, nodes)
	for _, t := range groups {
		k.assign(t, inOrder)
	}
}

// assign assigns the access sets of t to the nodes of t, in order. It assigns none if there are
// more nodes than sets, or if the sets differ and inOrder is false.
func (k *kernelNodes) assign(t *ambiguous, inOrder bool) {
	same := true
	for _, f := range t.sets[1:] {
		same = same && f.Same(t.sets[0])
	}
	if len(t.nodes) > len(t.sets) || !same && !inOrder {
		return
	}
	for i, n := range t.nodes {
		k.sets[n.i] = t.sets[i]
	}
}

// sameOrder reports whether the nodes correspond to the access sets one to one, in the order in
// which the sets were recorded.
func sameOrder(order []*ambiguous, nodes []Node) bool {
	if len(order) != len(nodes) {
		return false
	}
	taken := make(map[*ambiguous]int)
	for i, t := range order {
		at := taken[t]
		if at >= len(t.nodes) || t.nodes[at] != nodes[i] {
			return false
		}
		taken[t]++
	}
	return true
}
