package access

import "slices"

// Reach is a growing list of items, each of which may run after earlier ones. For each item, it
// stores all items that the item directly or indirectly runs after.
type Reach struct{ before []earlier }

// earlier is a set of numbers: all numbers below base, and the numbers in bits, whose first bit is
// base. base is a multiple of 64.
type earlier struct {
	base int
	bits []uint64
}

func (e *earlier) has(i int) bool {
	if i < e.base {
		return true
	}
	w := (i - e.base) / 64
	return w < len(e.bits) && e.bits[w]>>(uint(i)%64)&1 != 0
}

// Add appends an item that runs after the given items. It returns, in ascending order, the smallest
// subset of these items that implies the rest.
func (r *Reach) Add(after []int) []int {
	slices.Sort(after)
	after = slices.Compact(after)
	e, direct := earlier{}, after[len(after):]
	for _, a := range slices.Backward(after) {
		if !e.has(a) {
			e.merge(&r.before[a], a)
			direct = append(direct, a)
		}
	}
	slices.Reverse(direct)
	e.settle()
	r.before = append(r.before, e)
	return slices.Clip(direct)
}

// Undo removes the latest item.
func (r *Reach) Undo() { r.before = r.before[:len(r.before)-1] }

// merge adds i and the elements of o to the set.
func (e *earlier) merge(o *earlier, i int) {
	if o.base > e.base {
		drop := min((o.base-e.base)/64, len(e.bits))
		e.base, e.bits = o.base, e.bits[drop:]
	}
	if i >= e.base {
		e.grow((i-e.base)/64 + 1)
		e.bits[(i-e.base)/64] |= 1 << (uint(i) % 64)
	}
	skip := (e.base - o.base) / 64
	if skip >= len(o.bits) {
		return
	}
	e.grow(len(o.bits) - skip)
	for w, b := range o.bits[skip:] {
		e.bits[w] |= b
	}
}

func (e *earlier) grow(words int) {
	for len(e.bits) < words {
		e.bits = append(e.bits, 0)
	}
}

// settle moves base past words in which all bits are set.
func (e *earlier) settle() {
	n := 0
	for n < len(e.bits) && e.bits[n] == ^uint64(0) {
		n++
	}
	e.base, e.bits = e.base+64*n, slices.Clone(e.bits[n:])
}
