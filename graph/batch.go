package graph

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/graph/internal/retain"
)

// Item describes one node of a batch or a plan.
type Item struct {
	Op    driver.Op
	After []int             // indices of earlier items in the same list
	Deps  []Node            // nodes already in the graph; must be empty in a plan
	Name  string            // name of the node, see Node.SetName
	Uses  []driver.Declared // further memory accesses of the node, see Node.Declare
}

// Chain returns items for operations that each run after the previous one. The first operation runs
// after deps. Pass the items to AddBatch or, without deps, to NewPlan.
func Chain(ops []driver.Op, deps ...Node) []Item {
	items, before := make([]Item, len(ops)), make([]int, len(ops))
	for i, op := range ops {
		items[i].Op = op
		if i == 0 {
			items[i].Deps = deps
		} else {
			before[i] = i - 1
			items[i].After = before[i : i+1 : i+1]
		}
	}
	return items
}

// AddBatch adds a node for each item and appends the nodes to dst, in order. It batches many driver
// calls into one native call, so a node costs about as much as in C. On failure, the error names
// the item and the graph is unchanged. AddBatch reads all operations before it returns. Items may
// share an operation.
func (g *Graph) AddBatch(dst []Node, items []Item) ([]Node, error) {
	if err := g.lock(); err != nil {
		return dst, err
	}
	defer g.mu.Unlock()
	b := newBuilder(g, items)
	defer b.done()
	err := b.build()
	runtime.KeepAlive(items) // the batch holds addresses within the operations
	if err != nil {
		return dst, err
	}
	return b.nodes(dst), nil
}

var batches batchPool

type batchPool struct{ pool sync.Pool }

func (p *batchPool) get(d *driver.Driver) *cu.Batch {
	b, _ := p.pool.Get().(*cu.Batch)
	if b == nil {
		return d.NewBatch()
	}
	b.Reset(&d.Driver)
	return b
}

func (p *batchPool) put(b *cu.Batch) {
	b.Reset(nil)
	p.pool.Put(b)
}

// builder adds a batch of nodes to a graph. The driver writes the new handles to made, in order,
// and later calls of the batch read their dependencies from made. Dependency lists that are not
// contiguous in made are copied to from. Neither slice may be reallocated while the batch holds
// addresses in it.
type builder struct {
	g     *Graph
	items []Item

	batch *cu.Batch
	made  []cu.CUgraphNode
	from  []cu.CUgraphNode

	last           *driver.Launch // launch of the previous item, or nil
	count          int            // number of nodes that the driver has created
	first          int            // index of the item of the first call in the batch
	before         retain.Mark    // state of the references before the batch
	beforeAccesses access.Mark

	described bool       // an item has a name or declared accesses
	uses      []declared // declared accesses, one element for each item that has any
}

var builders = sync.Pool{New: func() any { return new(builder) }}

func newBuilder(g *Graph, items []Item) *builder {
	b := builders.Get().(*builder)
	b.items, b.described = items, false
	b.prepare(g, len(items))
	return b
}

func (b *builder) prepare(g *Graph, n int) {
	b.g, b.last, b.count, b.first = g, nil, 0, 0
	b.made = slices.Grow(b.made[:0], n)[:n]
	b.from = b.from[:0]
	b.batch = batches.get(g.d)
	o := g.changeRefs()
	b.before, b.beforeAccesses = o.Mark(), g.accesses.Mark()
	g.raws = slices.Grow(g.raws, n)
	o.Reserve(n)
}

func (b *builder) done() {
	clear(b.uses)
	b.uses = b.uses[:0]
	batches.put(b.batch)
	b.g, b.items, b.last, b.batch = nil, nil, nil, nil
	builders.Put(b)
}

func (b *builder) nodes(dst []Node) []Node {
	g, n := b.g, len(dst)
	first := uint32(len(g.raws))
	g.raws = append(g.raws, b.made...)
	dst = slices.Grow(dst, len(b.made))[:n+len(b.made)]
	for i := range b.made {
		dst[n+i] = Node{g, first + uint32(i)}
	}
	if g.index != nil {
		for i, raw := range b.made {
			g.index[raw] = first + uint32(i)
		}
	}
	if b.described {
		b.describe(dst[n:])
	}
	return dst
}

func (b *builder) build() error {
	for i := 0; i < len(b.made); i++ {
		if err := b.add(i); err != nil {
			return b.undo(i, err)
		}
		i = b.repeat(i)
		if b.batch.Len() >= callsAtOnce {
			if at, err := b.flush(); err != nil {
				return b.undo(at, err)
			}
		}
	}
	if at, err := b.flush(); err != nil {
		return b.undo(at, err)
	}
	if i, err := b.keepUses(); err != nil {
		return b.undo(i, err)
	}
	return nil
}

// callsAtOnce is the largest number of calls in a batch. It is enough to hide the call overhead,
// and few enough that the argument blocks are still in the cache when the calls are made.
const callsAtOnce = 1 << 10

// handlesAtOnce is the minimum capacity of builder.from after it grows.
const handlesAtOnce = 1 << 10

// failedAt is the error of an item whose call failed in a flush for a later item.
type failedAt struct {
	item int
	err  error
}

func (e *failedAt) Error() string { return e.err.Error() }

func (b *builder) add(i int) error {
	it := &b.items[i]
	if it.Name != "" || len(it.Uses) > 0 {
		if err := b.readUses(i, it); err != nil {
			return err
		}
	}
	op := it.Op
	l, _ := op.(*driver.Launch)
	if l != nil && l == b.last && !b.g.part {
		return b.addAgain(i, l)
	}
	if err := b.g.accepts(op); err != nil {
		return err
	}
	from, n, err := b.dependencies(i)
	if err != nil {
		return err
	}
	o := b.g.keep.refs
	if err := o.Retain(op.Uses().Refs); err != nil {
		return err
	}
	b.g.commitNew(o)
	if l != nil {
		b.g.accesses.Launch(len(b.g.raws)+i, l)
	}
	b.last = l
	return b.call(i, op, from, n)
}

// repeat adds the items after item i that launch b.last again and depend only on the item before
// them. It stops when the batch is full, and returns the index of the last item added, or i. repeat
// is a fast path, because most long chains consist of few different operations.
func (b *builder) repeat(i int) int {
	l := b.last
	if l == nil || b.g.part || len(l.Block().Attributes()) > 0 {
		return i
	}
	from, p, raw := i, &l.Block().Node, b.g.raw
	for i+1 < len(b.made) && b.batch.Len() < callsAtOnce && b.items[i+1].repeats(l, i) {
		i++
		b.batch.GraphAddKernelNode(&b.made[i], raw, &b.made[i-1], 1, p)
	}
	if i > from {
		b.g.keep.refs.CommitAgain(i - from)
		b.g.accesses.Again(i - from)
	}
	return i
}

// repeats reports whether the item launches l, depends only on item i, and has neither a name nor
// declared accesses.
func (it *Item) repeats(l *driver.Launch, i int) bool {
	next, ok := it.Op.(*driver.Launch)
	return ok && next == l && len(it.After) == 1 && it.After[0] == i && len(it.Deps) == 0 &&
		it.Name == "" && len(it.Uses) == 0
}

// addAgain adds item i, whose launch l is also the previous item's and therefore already checked.
func (b *builder) addAgain(i int, l *driver.Launch) error {
	from, n, err := b.dependencies(i)
	if err != nil {
		return err
	}
	b.g.keep.refs.CommitAgain(1)
	b.g.accesses.Launch(len(b.g.raws)+i, l)
	if len(l.Block().Attributes()) > 0 {
		return b.call(i, l, from, n)
	}
	b.batch.GraphAddKernelNode(&b.made[i], b.g.raw, from, n, &l.Block().Node)
	return nil
}

// call appends the driver call for item i to the batch. If the operation needs other calls, as a
// launch with attributes does, call flushes the batch and adds the node directly.
func (b *builder) call(i int, op driver.Op, from *cu.CUgraphNode, n uintptr) error {
	g, node := b.g, &b.made[i]
	switch op := op.(type) {
	case *driver.Launch:
		if len(op.Block().Attributes()) == 0 {
			b.batch.GraphAddKernelNode(node, g.raw, from, n, &op.Block().Node)
			return nil
		}
	case *driver.CopyOp:
		if op.Bytes() != 0 {
			b.batch.GraphAddMemcpyNode(node, g.raw, from, n, op.Uses().Node.(*cu.CUDA_MEMCPY3D), op.Context().Raw())
			return nil
		}
	case *driver.FillOp:
		if op.Bytes() != 0 {
			b.batch.GraphAddMemsetNode(node, g.raw, from, n, op.Uses().Node.(*cu.CUDA_MEMSET_NODE_PARAMS), op.Context().Raw())
			return nil
		}
	}
	if err := b.flushBefore(); err != nil {
		return err
	}
	if err := g.addRaw(node, from, n, op); err != nil {
		return err
	}
	b.count, b.first = i+1, i+1
	return nil
}

// flush makes the calls of the batch. On failure, it returns the index of the item whose call
// failed.
func (b *builder) flush() (int, error) {
	n := b.batch.Len()
	done, err := b.batch.Run()
	b.batch.Reset(&b.g.d.Driver)
	b.from = b.from[:0]
	b.count = b.first + done
	if err != nil {
		return b.count, err
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

// undo destroys all nodes that the driver has created for the batch. It returns err, which occurred
// at item i, joined with any errors from destroying them.
func (b *builder) undo(i int, err error) error {
	if f, ok := err.(*failedAt); ok {
		i, err = f.item, f.err
	}
	g := b.g
	errs := []error{fmt.Errorf("item %d: %w", i, g.addError(b.items[i].Op, err))}
	for n := b.count - 1; n >= 0; n-- {
		errs = append(errs, g.d.CuGraphDestroyNode(b.made[n]))
	}
	g.keep.refs.Cut(b.before)
	g.accesses.Cut(b.beforeAccesses)
	return join(errs)
}

// dependencies returns the handles of the nodes that item i runs after, as a pointer and a count.
// Handles of this batch may not be written yet. The driver writes them before it reads the list.
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

// consecutive reports whether each index is one more than the previous one, so that their handles
// are adjacent in made.
func consecutive(after []int) bool {
	for i, a := range after {
		if a != after[0]+i {
			return false
		}
	}
	return true
}

// gather copies the handles of the item's dependencies to b.from. If some of the dependencies are
// items of the batch, it first flushes the batch, so that the driver has written their handles.
func (b *builder) gather(it *Item) (*cu.CUgraphNode, uintptr, error) {
	if len(it.After) > 0 {
		if err := b.flushBefore(); err != nil {
			return nil, 0, err
		}
	}
	if need := len(it.After) + len(it.Deps); need > cap(b.from)-len(b.from) {
		if err := b.flushBefore(); err != nil { // the batch holds addresses in from
			return nil, 0, err
		}
		b.from = slices.Grow(b.from, max(need, handlesAtOnce))
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

func (b *builder) readUses(i int, it *Item) error {
	b.described = true
	if len(it.Uses) == 0 {
		return nil
	}
	d, err := declaredOf(it.Uses)
	if err != nil {
		return err
	}
	d.item = i
	b.uses = append(b.uses, d)
	return nil
}

// keepUses makes the graph retain the memory of the declared accesses. On failure, it returns the
// index of the item whose memory could not be retained.
func (b *builder) keepUses() (item int, err error) {
	for i := range b.uses {
		if err := b.g.changeRefs().RetainLoose(b.uses[i].refs); err != nil {
			return b.uses[i].item, err
		}
	}
	return 0, nil
}

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
