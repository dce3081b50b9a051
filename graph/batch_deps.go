package graph

import "github.com/purecuda/cuda/driver/cu"

// dependencies returns where the handles of what item i runs after lie, or will
// lie when the driver reads them.
func (b *builder) dependencies(i int) (*cu.CUgraphNode, uintptr, error) {
	it := &b.items[i]
	for _, a := range it.After {
		if a < 0 || a >= i {
			return nil, 0, notBefore(a)
		}
	}
	switch {
	case len(it.Deps) == 0 && len(it.After) == 0:
		return nil, 0, nil
	case len(it.Deps) == 0 && consecutive(it.After):
		return &b.made[it.After[0]], uintptr(len(it.After)), nil
	}
	return b.gather(it)
}

// consecutive reports whether the handles lie one behind the other.
func consecutive(after []int) bool {
	for i, a := range after {
		if a != after[0]+i {
			return false
		}
	}
	return true
}

// gather copies handles to a list of their own. Those of the batch must be
// there by now: the calls so far are made first.
func (b *builder) gather(it *Item) (*cu.CUgraphNode, uintptr, error) {
	if len(it.After) > 0 {
		if err := b.flushBefore(); err != nil {
			return nil, 0, err
		}
	}
	start := len(b.from)
	for _, a := range it.After {
		b.from = append(b.from, b.made[a])
	}
	for _, n := range it.Deps {
		if err := b.g.check(n); err != nil {
			return nil, 0, err
		}
		b.from = append(b.from, n.handle())
	}
	if len(b.from) == start {
		return nil, 0, nil
	}
	return &b.from[start], uintptr(len(b.from) - start), nil
}

// readUses reads the declared uses of items, before any node is added.
func (b *builder) readUses() (item int, err error) {
	b.uses = b.uses[:0]
	for i := range b.items {
		if len(b.items[i].Uses) == 0 {
			continue
		}
		d, err := declaredOf(b.items[i].Uses)
		if err != nil {
			return i, err
		}
		d.item = i
		b.uses = append(b.uses, d)
	}
	return 0, nil
}

// keepUses has the graph retain the memory of the declared uses.
func (b *builder) keepUses() (item int, err error) {
	for i := range b.uses {
		if err := b.g.changeRefs().RetainLoose(b.uses[i].refs); err != nil {
			return b.uses[i].item, err
		}
	}
	return 0, nil
}

// describe names the new nodes and notes their declared accesses.
func (b *builder) describe(nodes []Node) {
	for i := range b.items {
		if name := b.items[i].Name; name != "" {
			b.g.names.set(nodes[i].i, name)
		}
	}
	for i := range b.uses {
		d := &b.uses[i]
		b.g.accesses.Declare(nodes[d.item].i, d.list)
	}
}
