package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
)

// Item is one node of a batch: what it does, and what it runs after.
type Item struct {
	Op    driver.Op
	After []int  // items of the same batch, by index, that come before this one
	Deps  []Node // nodes that the graph has already
}

// AddBatch adds a node for each item and appends the nodes to dst, in order. It
// costs about what C pays for the same calls, because many of them are made in
// one crossing; adding a node at a time costs a crossing each. When one fails,
// the error names it and the graph is as it was.
//
// Operations are read before AddBatch returns, so items may share one.
func (g *Graph) AddBatch(dst []Node, items []Item) ([]Node, error) {
	if err := g.lock(); err != nil {
		return dst, err
	}
	defer g.mu.Unlock()
	b := g.newBuilder(items)
	err := b.build()
	runtime.KeepAlive(items) // the batch has addresses in the operations
	if err != nil {
		return dst, err
	}
	return b.nodes(dst), nil
}

// AddChain adds a node for each operation, each to run after the one before,
// and the first after deps. It appends the nodes to dst.
func (g *Graph) AddChain(dst []Node, ops []driver.Op, deps ...Node) ([]Node, error) {
	if err := g.lock(); err != nil {
		return dst, err
	}
	defer g.mu.Unlock()
	b := g.newChain(ops, deps)
	err := b.build()
	runtime.KeepAlive(ops)
	if err != nil {
		return dst, err
	}
	return b.nodes(dst), nil
}

// nodes enters the new nodes in the graph's tables.
func (b *builder) nodes(dst []Node) []Node {
	for _, raw := range b.g.to {
		dst = append(dst, b.g.added(raw))
	}
	return dst
}

// builder is a batch on its way into a graph. The new nodes' handles come to
// lie in g.to, one behind the other, where later calls of the same crossing
// find them; lists of dependencies that are not a part of it are put in g.from.
// Neither may move while the driver has addresses in them.
type builder struct {
	g     *Graph
	items []Item
	ops   []driver.Op // a chain, if there are no items
	deps  []Node      // of the first of the chain

	made  int // nodes that the driver has made
	first int // the item of the first call in the batch
	lists int // g.owners' counts before
	slots int
}

func (g *Graph) newBuilder(items []Item) *builder {
	b := &g.building
	*b = builder{g: g, items: items}
	room := 0
	for i := range items {
		room += len(items[i].After) + len(items[i].Deps)
	}
	b.prepare(len(items), room)
	return b
}

func (g *Graph) newChain(ops []driver.Op, deps []Node) *builder {
	b := &g.building
	*b = builder{g: g, ops: ops, deps: deps}
	b.prepare(len(ops), len(deps))
	return b
}

// prepare makes room for n handles, and for the lists of dependencies.
func (b *builder) prepare(n, room int) {
	g := b.g
	if cap(g.to) < n {
		g.to = make([]driver.CUgraphNode, n)
	}
	g.to = g.to[:n]
	if cap(g.from) < room {
		g.from = make([]driver.CUgraphNode, 0, room)
	}
	g.from = g.from[:0]
	if g.batch == nil {
		g.batch = g.d.NewBatch()
	}
	o := g.owners()
	b.lists, b.slots = len(o.lists), len(o.slots)
}

func (b *builder) len() int { return len(b.g.to) }

func (b *builder) op(i int) driver.Op {
	if b.items != nil {
		return b.items[i].Op
	}
	return b.ops[i]
}

func (b *builder) build() error {
	defer b.forget()
	for i := range b.len() {
		if err := b.add(i); err != nil {
			return b.undo(i, err)
		}
	}
	if at, err := b.flush(); err != nil {
		return b.undo(at, err)
	}
	return nil
}

// forget lets go of the caller's slices: a builder is used again.
func (b *builder) forget() { b.items, b.ops, b.deps = nil, nil, nil }

// failedAt is an error of the item of an earlier call, found by a flush.
type failedAt struct {
	item int
	err  error
}

func (e *failedAt) Error() string { return e.err.Error() }

// add puts one node into the batch.
func (b *builder) add(i int) error {
	g, op := b.g, b.op(i)
	if err := g.accepts(op); err != nil {
		return err
	}
	from, n, err := b.dependencies(i)
	if err != nil {
		return err
	}
	o := g.keep.own
	if err := o.hold(op.Refs()); err != nil {
		return err
	}
	g.commitNew(o)
	return b.call(i, op, from, n)
}

// call makes a call of the batch of it, or, for the sorts of nodes that need
// more than one call, makes it at once.
func (b *builder) call(i int, op driver.Op, from *driver.CUgraphNode, n uintptr) error {
	g, node := b.g, &b.g.to[i]
	switch op := op.(type) {
	case *driver.Launch:
		if len(op.Attributes()) == 0 {
			g.batch.GraphAddKernelNode(node, g.raw, from, n, op.KernelNodeParams())
			return nil
		}
	case *driver.CopyOp:
		if op.Bytes() != 0 {
			g.batch.GraphAddMemcpyNode(node, g.raw, from, n, op.Memcpy3D(), op.Context().Raw())
			return nil
		}
	case *driver.FillOp:
		if op.Bytes() != 0 {
			g.batch.GraphAddMemsetNode(node, g.raw, from, n, op.MemsetParams(), op.Context().Raw())
			return nil
		}
	}
	if err := b.flushBefore(); err != nil {
		return err
	}
	if err := g.addRaw(node, from, n, op); err != nil {
		return err
	}
	b.made, b.first = i+1, i+1
	return nil
}

// dependencies returns where the handles of what item i runs after lie, or will
// lie when the driver reads them.
func (b *builder) dependencies(i int) (*driver.CUgraphNode, uintptr, error) {
	if b.items == nil {
		return b.chained(i)
	}
	it := &b.items[i]
	for _, a := range it.After {
		if a < 0 || a >= i {
			return nil, 0, invalid("it is to run after item %d, which does not come before it", a)
		}
	}
	switch {
	case len(it.Deps) == 0 && len(it.After) == 0:
		return nil, 0, nil
	case len(it.Deps) == 0 && consecutive(it.After):
		return &b.g.to[it.After[0]], uintptr(len(it.After)), nil
	}
	return b.gather(it)
}

func (b *builder) chained(i int) (*driver.CUgraphNode, uintptr, error) {
	if i > 0 {
		return &b.g.to[i-1], 1, nil
	}
	return b.gather(&Item{Deps: b.deps})
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
func (b *builder) gather(it *Item) (*driver.CUgraphNode, uintptr, error) {
	g := b.g
	if len(it.After) > 0 {
		if err := b.flushBefore(); err != nil {
			return nil, 0, err
		}
	}
	start := len(g.from)
	for _, a := range it.After {
		g.from = append(g.from, g.to[a])
	}
	for _, n := range it.Deps {
		if err := g.check(n); err != nil {
			return nil, 0, err
		}
		g.from = append(g.from, n.raw)
	}
	if len(g.from) == start {
		return nil, 0, nil
	}
	return &g.from[start], uintptr(len(g.from) - start), nil
}

// flush makes the calls of the batch. On failure it returns the item.
func (b *builder) flush() (int, error) {
	g := b.g
	n := g.batch.Len()
	done, err := g.batch.Run()
	g.batch.Reset()
	b.made = b.first + done
	if err != nil {
		return b.made, err
	}
	b.first += n
	return 0, nil
}

func (b *builder) flushBefore() error {
	if at, err := b.flush(); err != nil {
		return &failedAt{at, err}
	}
	return nil
}

// undo takes back what the failed batch had added.
func (b *builder) undo(i int, err error) error {
	if f, ok := err.(*failedAt); ok {
		i, err = f.item, f.err
	}
	g := b.g
	g.batch.Reset()
	errs := []error{fmt.Errorf("item %d: %w", i, g.addError(b.op(i), err))}
	for n := b.made - 1; n >= 0; n-- {
		errs = append(errs, g.d.CuGraphDestroyNode(g.to[n]))
	}
	g.keep.own.cut(b.lists, b.slots)
	return join(errs)
}
