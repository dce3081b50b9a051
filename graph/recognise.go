package graph

import (
	"encoding/binary"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// kernelNodes says of the kernel nodes of a graph which footprints are theirs.
// It believes nothing that the driver does not confirm: kernel and addresses
// must be those that the node has.
type kernelNodes struct {
	params map[uint32]*cu.CUDA_KERNEL_NODE_PARAMS
	prints map[uint32]foundFootprint
}

// recognise finds the footprints of a graph's kernel nodes: what was noted for
// each, or, where the driver made the nodes, what was noted for the captured
// operations and for the graphs that they were copied from.
func (g *Graph) recognise(nodes []Node) (*kernelNodes, error) {
	k := &kernelNodes{make(map[uint32]*cu.CUDA_KERNEL_NODE_PARAMS), make(map[uint32]foundFootprint)}
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
		f := g.prints.find(n.i)
		switch {
		case f.footprint == nil || f.kernel == nil:
			rest = append(rest, n)
		case f.fits(p):
			k.prints[n.i] = f
		}
	}
	if len(rest) > 0 && len(g.prints.loose) > 0 {
		k.match(rest, g.prints)
	}
	return k, nil
}

// fits reports whether a node with these parameters can have the footprint.
func (f foundFootprint) fits(p *cu.CUDA_KERNEL_NODE_PARAMS) bool {
	if p.Func != f.kernel.Raw() {
		return false
	}
	for _, s := range f.uses() {
		if s.bytes > 0 && (p.KernelParams == nil || argument(p, int(s.arg)) != s.addr) {
			return false
		}
	}
	return true
}

// twins are footprints and nodes that cannot be told apart by kernel and
// addresses.
type twins struct {
	prints []foundFootprint
	nodes  []Node
}

// match finds out which nodes loose footprints belong to.
func (k *kernelNodes) match(nodes []Node, p *footprints) {
	var all []foundFootprint
	for _, l := range p.loose {
		l.each(func(f foundFootprint) {
			if f.kernel != nil {
				all = append(all, f)
			}
		})
	}
	args := commonArgs(all)
	groups := make(map[string]*twins)
	order := make([]*twins, len(all))
	for i, f := range all {
		key := f.key(args[f.kernel.Raw()])
		if groups[key] == nil {
			groups[key] = new(twins)
		}
		order[i] = groups[key]
		order[i].prints = append(order[i].prints, f)
	}
	for _, n := range nodes {
		p := k.params[n.i]
		if t := groups[nodeKey(p, args[p.Func])]; t != nil {
			t.nodes = append(t.nodes, n)
		}
	}
	inOrder := sameOrder(order, nodes)
	for _, t := range groups {
		k.assign(t, inOrder)
	}
}

// assign gives the nodes of twins their footprints. Where these differ, which is
// whose is only known if all nodes lie in the order of the footprints.
func (k *kernelNodes) assign(t *twins, inOrder bool) {
	same := true
	for _, f := range t.prints[1:] {
		same = same && f.same(t.prints[0])
	}
	if len(t.nodes) > len(t.prints) || !same && !inOrder {
		return
	}
	for i, n := range t.nodes {
		k.prints[n.i] = t.prints[i]
	}
}

// sameOrder reports whether there is one node for each footprint, and the nodes
// come in the order in which the footprints were noted.
func sameOrder(order []*twins, nodes []Node) bool {
	if len(order) != len(nodes) {
		return false
	}
	taken := make(map[*twins]int)
	for i, t := range order {
		at := taken[t]
		if at >= len(t.nodes) || t.nodes[at] != nodes[i] {
			return false
		}
		taken[t]++
	}
	return true
}

// same reports whether two footprints are of the same memory.
func (f foundFootprint) same(o foundFootprint) bool {
	return slices.Equal(f.uses(), o.uses())
}

// commonArgs returns, by kernel, the arguments that are memory in all of the
// footprints.
func commonArgs(all []foundFootprint) map[driver.CUfunction][]int32 {
	common := make(map[driver.CUfunction][]int32)
	for _, f := range all {
		var args []int32
		for _, s := range f.uses() {
			if s.bytes > 0 {
				args = append(args, s.arg)
			}
		}
		slices.Sort(args)
		raw := f.kernel.Raw()
		if had, ok := common[raw]; ok {
			args = slices.DeleteFunc(args, func(a int32) bool { return !slices.Contains(had, a) })
		}
		common[raw] = args
	}
	return common
}

// key is the same for footprints of one kernel with the same addresses in args.
func (f foundFootprint) key(args []int32) string {
	key := binary.NativeEndian.AppendUint64(nil, uint64(f.kernel.Raw()))
	for _, a := range args {
		for _, s := range f.uses() {
			if s.arg == a {
				key = binary.NativeEndian.AppendUint64(key, s.addr)
			}
		}
	}
	return string(key)
}

// nodeKey is key for what a node has.
func nodeKey(p *cu.CUDA_KERNEL_NODE_PARAMS, args []int32) string {
	key := binary.NativeEndian.AppendUint64(nil, uint64(p.Func))
	for _, a := range args {
		if p.KernelParams == nil {
			return ""
		}
		key = binary.NativeEndian.AppendUint64(key, argument(p, int(a)))
	}
	return string(key)
}
