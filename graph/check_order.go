package graph

import (
	"cmp"
	"slices"
)

// mostPairs is how many pairs Check compares at most to find all conflicts.
const mostPairs = 1 << 22

// result finds the conflicts.
func (c *checker) result(err error) (Checked, error) {
	if err != nil {
		return Checked{}, err
	}
	o := newVertexOrder(c.after)
	if o == nil {
		return Checked{}, c.cycle()
	}
	found := Checked{Unknown: c.unsure}
	pairs := c.unordered(o, c.neighbours(o))
	if len(pairs) > 0 {
		found.Truncated = len(c.uses) > 1 && len(c.uses)*(len(c.uses)-1)/2 > mostPairs
		if !found.Truncated {
			pairs = c.unordered(o, c.allPairs())
		}
	}
	for _, p := range pairs {
		f, err := c.conflict(p)
		if err != nil {
			return Checked{}, err
		}
		found.Conflicts = append(found.Conflicts, f)
	}
	slices.SortStableFunc(found.Conflicts, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.A.g.raw, b.A.g.raw), cmp.Compare(a.A.i, b.A.i),
			cmp.Compare(a.B.g.raw, b.B.g.raw), cmp.Compare(a.B.i, b.B.i), cmp.Compare(a.From, b.From))
	})
	return found, nil
}

// pair are two uses of memory, by number.
type pair struct{ a, b int }

// neighbours returns the pairs of uses in conflict that must be in order for
// all to be: if each is, what lies further apart is so too.
func (c *checker) neighbours(o *vertexOrder) []pair {
	byPlace := make([]int, len(c.uses))
	for i := range byPlace {
		byPlace[i] = i
	}
	slices.SortStableFunc(byPlace, func(a, b int) int {
		return cmp.Compare(o.place[c.uses[a].step], o.place[c.uses[b].step])
	})
	var x accessIndex
	var pairs []pair
	for at := 0; at < len(byPlace); {
		end := at
		for end < len(byPlace) && c.uses[byPlace[end]].step == c.uses[byPlace[at]].step {
			end++
		}
		for _, i := range byPlace[at:end] {
			var others []int
			x.conflicts(c.uses[i].Access, &others)
			for _, j := range others {
				pairs = append(pairs, pair{j, i})
			}
		}
		for _, i := range byPlace[at:end] {
			x.add(i, c.uses[i].Access)
		}
		at = end
	}
	return pairs
}

// allPairs returns all pairs of uses in conflict.
func (c *checker) allPairs() []pair {
	var pairs []pair
	for i := range c.uses {
		for j := range i {
			if c.uses[i].step != c.uses[j].step && c.uses[i].Overlaps(c.uses[j].Access) {
				pairs = append(pairs, pair{j, i})
			}
		}
	}
	return pairs
}

func (c *checker) conflict(p pair) (f Conflict, err error) {
	a, b := &c.uses[p.a], &c.uses[p.b]
	f = Conflict{A: c.nodes[a.step], B: c.nodes[b.step], OfA: a.Access, OfB: b.Access}
	f.From, f.To, _ = a.Common(b.Access)
	f.Buffer, f.Size, err = c.allocation(f.From)
	return f, err
}

// cycle is the error for graphs that have one. No edge leaves its graph, so the
// cycle is in one of them.
func (c *checker) cycle() error {
	for _, g := range c.graphs {
		if nodes := g.cycle(); nodes != nil {
			return invalid("its nodes form a cycle, %s", circle(nodes))
		}
	}
	return invalid("its nodes form a cycle")
}

// vertexOrder is an order of vertices in which each comes behind those that it
// runs after.
type vertexOrder struct {
	list  []int // vertices, in order
	place []int // by vertex: where it is in the list
	after [][]int
}

// newVertexOrder returns nil if there is a cycle.
func newVertexOrder(after [][]int) *vertexOrder {
	o := &vertexOrder{place: make([]int, len(after)), after: after}
	before := make([][]int, len(after))
	missing := make([]int, len(after))
	for v, list := range after {
		missing[v] = len(list)
		for _, a := range list {
			before[a] = append(before[a], v)
		}
		if len(list) == 0 {
			o.list = append(o.list, v)
		}
	}
	for i := 0; i < len(o.list); i++ {
		v := o.list[i]
		o.place[v] = i
		for _, next := range before[v] {
			if missing[next]--; missing[next] == 0 {
				o.list = append(o.list, next)
			}
		}
	}
	if len(o.list) < len(after) {
		return nil
	}
	return o
}

// blockSize is how many vertices are looked at together: of each other one is
// then known which of them come before it.
const blockSize = 64 * 64

// unordered returns those of the pairs of uses between whose vertices there is
// no path, in order, each with the use that comes first in front.
func (c *checker) unordered(o *vertexOrder, pairs []pair) []pair {
	for i, p := range pairs {
		if o.place[c.uses[p.a].step] > o.place[c.uses[p.b].step] {
			pairs[i] = pair{p.b, p.a}
		}
	}
	first := func(p pair) int { return o.place[c.uses[p.a].step] }
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
	})
	pairs = slices.Compact(pairs)
	var left []pair
	for at := 0; at < len(pairs); {
		block := first(pairs[at]) / blockSize * blockSize
		from := o.reached(block)
		for ; at < len(pairs) && first(pairs[at]) < block+blockSize; at++ {
			p := pairs[at]
			i := first(p) - block
			if to := o.place[c.uses[p.b].step]; from[to-block][i/64]>>(i%64)&1 == 0 {
				left = append(left, p)
			}
		}
	}
	return left
}

// reached returns for each vertex from place block on which of the block come
// before it, or are it.
func (o *vertexOrder) reached(block int) [][blockSize / 64]uint64 {
	from := make([][blockSize / 64]uint64, len(o.list)-block)
	for i := range from {
		row := &from[i]
		for _, a := range o.after[o.list[block+i]] {
			if at := o.place[a] - block; at >= 0 {
				for w, b := range from[at] {
					row[w] |= b
				}
			}
		}
		if i < blockSize {
			row[i/64] |= 1 << (i % 64)
		}
	}
	return from
}
