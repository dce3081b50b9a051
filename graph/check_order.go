package graph

import (
	"cmp"
	"slices"

	"github.com/purecuda/cuda/graph/internal/access"
)

// mostPairs is how many pairs Check compares at most to find all conflicts.
const mostPairs = 1 << 22

// result finds the conflicts.
func (c *checker) result(err error) (Checked, error) {
	if err != nil {
		return Checked{}, err
	}
	o := access.NewOrder(c.after)
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
func (c *checker) neighbours(o *access.Order) []pair {
	byPlace := make([]int, len(c.uses))
	for i := range byPlace {
		byPlace[i] = i
	}
	slices.SortStableFunc(byPlace, func(a, b int) int {
		return cmp.Compare(o.Place[c.uses[a].Step], o.Place[c.uses[b].Step])
	})
	var x access.Index
	var pairs []pair
	for at := 0; at < len(byPlace); {
		end := at
		for end < len(byPlace) && c.uses[byPlace[end]].Step == c.uses[byPlace[at]].Step {
			end++
		}
		for _, i := range byPlace[at:end] {
			var others []int
			x.Conflicts(c.uses[i].Access, &others)
			for _, j := range others {
				pairs = append(pairs, pair{j, i})
			}
		}
		for _, i := range byPlace[at:end] {
			x.Add(i, c.uses[i].Access)
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
			if c.uses[i].Step != c.uses[j].Step && c.uses[i].Overlaps(c.uses[j].Access) {
				pairs = append(pairs, pair{j, i})
			}
		}
	}
	return pairs
}

func (c *checker) conflict(p pair) (f Conflict, err error) {
	a, b := &c.uses[p.a], &c.uses[p.b]
	f = Conflict{A: c.nodes[a.Step], B: c.nodes[b.Step], OfA: a.Access, OfB: b.Access}
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

// unordered returns those of the pairs of uses between whose vertices there is
// no path, in order, each with the use that comes first in front.
func (c *checker) unordered(o *access.Order, pairs []pair) []pair {
	for i, p := range pairs {
		if o.Place[c.uses[p.a].Step] > o.Place[c.uses[p.b].Step] {
			pairs[i] = pair{p.b, p.a}
		}
	}
	first := func(p pair) int { return o.Place[c.uses[p.a].Step] }
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
	})
	pairs = slices.Compact(pairs)
	var left []pair
	for at := 0; at < len(pairs); {
		block := first(pairs[at]) / access.BlockSize * access.BlockSize
		from := o.Reached(block)
		for ; at < len(pairs) && first(pairs[at]) < block+access.BlockSize; at++ {
			p := pairs[at]
			i := first(p) - block
			if to := o.Place[c.uses[p.b].Step]; from[to-block][i/64]>>(i%64)&1 == 0 {
				left = append(left, p)
			}
		}
	}
	return left
}
