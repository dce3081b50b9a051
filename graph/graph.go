package graph

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// Graph is work described by nodes and the dependencies between them. It runs
// by way of an [Exec]; changing it afterwards changes no Exec made before.
type Graph struct {
	mu    *loader.Latch  // held during every driver call on raw; one for a graph and its parts
	d     *driver.Driver // bound to ctx
	raw   driver.CUgraph
	ctx   *driver.Context
	keep  *keep
	latch loader.Latch                  // mu of those that are no part
	shut  bool                          // Close was called
	part  bool                          // it lies in a node of outer, which destroys it; keep and mu are outer's
	v2    bool                          // the driver takes kernel parameters as since CUDA 12.0
	index map[driver.CUgraphNode]uint32 // of raws; nil until a node must be found
	raws  []driver.CUgraphNode          // of the nodes, by number; 0 for a destroyed one

	removals uint32 // counts nodes that were destroyed

	prints *footprints // the memory that nodes use

	life  *driver.Lifetime
	seq   uint64 // the order in which two graphs are locked; a part's is outer's
	outer *Graph
	in    Node                      // of a part: the node it lies in
	parts map[driver.CUgraph]*Graph // of an outermost graph: those that were asked for
	conds *conds                    // of an outermost graph: its conditional nodes
	rec   *recording                // of an outermost graph: the capture that records into it now
	lost  error                     // why it was closed, where the program did not
	table *[]driver.CUgraphNode     // raws, on loan from tables
	names names
	users map[driver.CUuserObject]int // the references it holds
	from  []driver.CUgraphNode        // buffers for lists of nodes
	to    []driver.CUgraphNode
	data  []driver.CUgraphEdgeData
	tuned map[driver.CUgraphNode]attributeSet // nodes that were given launch attributes
	moved bool                                // it was handed over to the node it lies in
	mixed bool                                // of an outermost graph: nodes of other contexts were added
}

// tables are lists of nodes of graphs that were closed, for those that follow.
var tables = sync.Pool{New: func() any { return new([]driver.CUgraphNode) }}

// graphs counts those made.
var graphs atomic.Uint64

// keep is what a graph's destruction needs of it.
type keep struct{ own *owners }

// New returns an empty graph for operations of c.
func New(c *driver.Context) (*Graph, error) {
	life, err := driver.NewLifetime(c, "graph")
	if err != nil {
		return nil, err
	}
	var raw driver.CUgraph
	if err := c.Driver().CuGraphCreate(&raw, 0); err != nil {
		return nil, life.Abandon(err)
	}
	return own(c, life, raw, newOwners()), nil
}

// own makes a Graph of a driver's graph, which it destroys when it is closed,
// and of what that graph keeps alive.
func own(c *driver.Context, life *driver.Lifetime, raw driver.CUgraph, o *owners) *Graph {
	k := &keep{own: o}
	table := tables.Get().(*[]driver.CUgraphNode)
	d := c.Driver()
	g := &Graph{seq: graphs.Add(1), life: life, ctx: c, d: d, raw: raw, keep: k,
		table: table, raws: (*table)[:0], prints: newFootprints(), v2: d.Has(driver.FnCuGraphAddKernelNode)}
	g.mu = &g.latch
	driver.Own(g, life, uint64(raw), func(d *driver.Driver) error {
		err := d.CuGraphDestroy(raw)
		k.own.release()
		return err
	})
	return g
}

// Close destroys the graph. Execs that were made of it stay. A graph that lies
// in a node of another goes with that one, to close it does nothing.
func (g *Graph) Close() error {
	if g == nil {
		return nil
	}
	g.lockLatch() // a call that is under way ends first
	defer g.mu.Unlock()
	if g.part {
		return nil
	}
	if g.rec != nil {
		return g.rec.refuses("closed")
	}
	g.shut = true
	g.giveTable()
	return g.life.Close()
}

// noFootprints are those of graphs that were closed.
var noFootprints = &footprints{shared: true}

// giveTable gives back what own borrowed.
func (g *Graph) giveTable() {
	if g.table != nil {
		*g.table = g.raws
		tables.Put(g.table)
		g.table, g.raws, g.index = nil, nil, nil
		g.prints.recycle()
		g.prints = noFootprints
	}
}

// Raw returns the driver's handle, 0 for a nil graph.
func (g *Graph) Raw() driver.CUgraph {
	if g == nil {
		return 0
	}
	return g.raw
}

// Context returns the context that the graph was made for.
func (g *Graph) Context() *driver.Context {
	if g == nil {
		return nil
	}
	return g.ctx
}

// Lifetime is the graph's ownership record.
func (g *Graph) Lifetime() *driver.Lifetime {
	if g == nil {
		return nil
	}
	return g.life
}

// String names the graph.
func (g *Graph) String() string {
	if g == nil {
		return "nil graph"
	}
	return fmt.Sprintf("graph %#x", uintptr(g.raw))
}

// Keep has the graph keep things alive until it, and every Exec made of it from
// now on, is closed. It is for nodes whose parameters the graph does not know,
// such as those that other libraries captured.
func (g *Graph) Keep(refs ...driver.Ref) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	return g.owners().holdLoose(refs)
}

// owners returns what the graph keeps alive, to be changed.
func (g *Graph) owners() *owners {
	if o := g.keep.own; o.alone() {
		return o
	}
	g.keep.own = g.keep.own.writable()
	return g.keep.own
}

// commitNew gives what o holds to a node that is about to be entered. Graphs
// that lie in a node keep what their nodes refer to as long as the outermost
// graph, whose numbers of nodes are others.
func (g *Graph) commitNew(o *owners) {
	if g.part {
		o.commitLoose()
		return
	}
	o.commitNew()
}

// commit gives what o holds to a node in place of what it had.
func (g *Graph) commit(o *owners, n Node) {
	if g.part {
		o.commitLoose()
		return
	}
	o.commit(n.i)
}

// alive ends a call: g was reachable, so not reclaimed, until here.
func (g *Graph) alive() { runtime.KeepAlive(g) }
