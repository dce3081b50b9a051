package access

import (
	"maps"
	"slices"

	"github.com/purecuda/cuda/driver"
)

// InNode returns the sets of the graph that was copied into node i. If node i was captured or is
// itself a copy, they are not recorded. InNode then returns the sets of all child graphs in
// p.Loose.
func (p *Sets) InNode(i uint32) []*Sets {
	if c := p.children[i]; c != nil {
		return []*Sets{c}
	}
	var all []*Sets
	for _, l := range p.Loose {
		for _, j := range slices.Sorted(maps.Keys(l.children)) {
			all = append(all, l.children[j])
		}
		all = append(all, l.InNode(noNode)...)
	}
	return all
}

const noNode = ^uint32(0)

// Found is a set together with the Sets that contain its spans.
type Found struct {
	*Set
	in *Sets
}

// Find returns the access set of node i, or the zero Found if it is unknown.
func (p *Sets) Find(i uint32) Found {
	if int(i) < len(p.of) && p.of[i] != 0 {
		return Found{&p.list[p.of[i]-1], p}
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
		return Found{}
	}
	return p.plans[at].sets.Find(i - p.plans[at].first)
}

func (f Found) uses() []Span { return f.in.spans[f.at : f.at+uint32(f.n)] }

// List returns the accesses of the set, each with the name of its argument.
func (f Found) List() []driver.Access {
	list := make([]driver.Access, 0, f.n)
	for _, s := range f.uses() {
		list = append(list, driver.Access{Addr: s.addr, Bytes: s.bytes, Mode: s.mode, Host: s.host, Arg: s.arg, What: f.Kernel.ArgName(int(s.arg))})
	}
	return list
}

// Each yields all sets: first the sets recorded by node number, in that order, then the sets of
// plans, of loose Sets and of child graphs.
func (p *Sets) Each(yield func(Found)) {
	for _, at := range p.of {
		if at != 0 {
			yield(Found{&p.list[at-1], p})
		}
	}
	for _, s := range p.plans {
		s.sets.Each(yield)
	}
	for _, l := range p.Loose {
		l.Each(yield)
	}
	for _, i := range slices.Sorted(maps.Keys(p.children)) {
		p.children[i].Each(yield)
	}
}
