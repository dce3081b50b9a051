package graph

import (
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Item describes one node of a batch or a plan.
type Item struct {
	Op    driver.Op
	After []int             // items of the same list, by index, that come before this one
	Deps  []Node            // nodes that the graph has already; not for a plan
	Name  string            // of the node, see Node.SetName
	Uses  []driver.Declared // further memory accesses of the node, see Node.Declare
}

// Chain returns items for operations that each run after the previous one, the first after deps. It
// is for AddBatch, and without deps for NewPlan.
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
