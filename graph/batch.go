package graph

import (
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Item is one node of a batch: its operation and its dependencies.
type Item struct {
	Op    driver.Op
	After []int  // items of the same batch, by index, that come before this one
	Deps  []Node // nodes that the graph has already
}

// AddBatch adds a node for each item and appends the nodes to dst, in order. It makes many calls
// with one native call, so it costs about as much as in C. On failure, the error names the item and
// the graph is unchanged.
//
// Operations are read before AddBatch returns, so items may share one.
func (g *Graph) AddBatch(dst []Node, items []Item) ([]Node, error) {
	if err := g.lock(); err != nil {
		return dst, err
	}
	defer g.mu.Unlock()
	b := newBuilder(g, items)
	defer b.done()
	err := b.build()
	runtime.KeepAlive(items) // the batch has addresses in the operations
	if err != nil {
		return dst, err
	}
	return b.nodes(dst), nil
}

// AddChain adds a node for each operation. Each runs after the previous one, the first after deps.
// It appends the nodes to dst.
func (g *Graph) AddChain(dst []Node, ops []driver.Op, deps ...Node) ([]Node, error) {
	if err := g.lock(); err != nil {
		return dst, err
	}
	defer g.mu.Unlock()
	b := newChain(g, ops, deps)
	defer b.done()
	err := b.build()
	runtime.KeepAlive(ops)
	if err != nil {
		return dst, err
	}
	return b.nodes(dst), nil
}

// batches are reusable driver batches.
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

// put returns a batch to the pool, without its driver.
func (p *batchPool) put(b *cu.Batch) {
	b.Reset(nil)
	p.pool.Put(b)
}
