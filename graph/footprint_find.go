package graph

import (
	"maps"
	"slices"

	"github.com/purecuda/cuda/driver"
)

// inNode returns the footprints of the graph that was copied into node i, or if
// the node is itself a copy those of all that were copied into such nodes.
func (p *footprints) inNode(i uint32) []*footprints {
	if c := p.children[i]; c != nil {
		return []*footprints{c}
	}
	var all []*footprints
	for _, l := range p.loose {
		for _, j := range slices.Sorted(maps.Keys(l.children)) {
			all = append(all, l.children[j])
		}
		all = append(all, l.inNode(noNode)...)
	}
	return all
}

const noNode = ^uint32(0)

// foundFootprint is a footprint and where its spans are.
type foundFootprint struct {
	*footprint
	in *footprints
}

// find returns what was noted of node i.
func (p *footprints) find(i uint32) foundFootprint {
	if int(i) < len(p.of) && p.of[i] != 0 {
		return foundFootprint{&p.list[p.of[i]-1], p}
	}
	at, ok := slices.BinarySearchFunc(p.plans, i, func(s planNodes, i uint32) int {
		switch {
		case i < s.first:
			return 1
		case i >= s.first+s.n:
			return -1
		}
		return 0
	})
	if !ok {
		return foundFootprint{}
	}
	return p.plans[at].prints.find(i - p.plans[at].first)
}

// uses is the memory that a footprint has in it.
func (f foundFootprint) uses() []useSpan { return f.in.spans[f.at : f.at+uint32(f.n)] }

// accesses puts a footprint into words.
func (f foundFootprint) accesses() []driver.Access {
	list := make([]driver.Access, 0, f.n)
	for _, s := range f.uses() {
		list = append(list, driver.Access{Addr: s.addr, Bytes: s.bytes, Mode: s.mode, Host: s.host, Arg: s.arg, What: f.kernel.ArgName(int(s.arg))})
	}
	return list
}

// each yields all footprints that there are, node by node where the order is
// known.
func (p *footprints) each(yield func(foundFootprint)) {
	for _, at := range p.of {
		if at != 0 {
			yield(foundFootprint{&p.list[at-1], p})
		}
	}
	for _, s := range p.plans {
		s.prints.each(yield)
	}
	for _, l := range p.loose {
		l.each(yield)
	}
	for _, i := range slices.Sorted(maps.Keys(p.children)) {
		p.children[i].each(yield)
	}
}
