package graph

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// Graph is work described by nodes and the dependencies between them. An [Exec] runs it. Later
// changes of the graph do not affect existing Execs.
type Graph struct {
	mu    *loader.Latch  // held during every driver call on raw; one for a graph and its parts
	d     *driver.Driver // bound to ctx
	raw   driver.CUgraph
	ctx   *driver.Context
	keep  *keep
	latch loader.Latch              // mu of those that are no part
	shut  bool                      // Close was called
	part  bool                      // it lies in a node of outer, which destroys it; keep and mu are outer's
	v2    bool                      // the driver takes kernel parameters as since CUDA 12.0
	index map[cu.CUgraphNode]uint32 // of raws; nil until a node must be found
	raws  []cu.CUgraphNode          // of the nodes, by number; 0 for a destroyed one

	removals uint32 // counts nodes that were destroyed

	accesses *access.Sets // the memory that nodes use

	life  *life.Lifetime
	watch life.Watched
	seq   uint64 // the order in which two graphs are locked; a part's is outer's
	outer *Graph
	in    Node                      // of a part: the node it lies in
	parts map[driver.CUgraph]*Graph // of an outermost graph: those that were asked for
	conds *conds                    // of an outermost graph: its conditional nodes
	rec   *recording                // of an outermost graph: the capture that records into it now
	lost  error                     // why it was closed, where the program did not
	table *[]cu.CUgraphNode         // raws, on loan from tables
	names names
	users map[driver.CUuserObject]int // the references it holds
	from  []cu.CUgraphNode            // buffers for lists of nodes
	to    []cu.CUgraphNode
	data  []cu.CUgraphEdgeData
	tuned map[cu.CUgraphNode]attributeSet // nodes that were given launch attributes
	moved bool                            // it was handed over to the node it lies in
	mixed bool                            // of an outermost graph: nodes of other contexts were added
}

// tables are lists of nodes of graphs that were closed, for those that follow.
var tables = sync.Pool{New: func() any { return new([]cu.CUgraphNode) }}

// graphs counts those made.
var graphs atomic.Uint64

// keep is what a graph's destruction needs of it. It must not refer to the Graph,
// so that the Graph can be found unreachable.
type keep struct {
	life     life.Lifetime // of the outermost graph; a plan has its own
	refs     *retain.References
	raw      driver.CUgraph
	borrowed bool // raw is not this one's to destroy
	ends     ending
}

// ending is the block of a call that destroys something. Such calls may call back,
// so that their block cannot lie on the stack.
type ending struct {
	call   loader.Call
	handle uintptr
	_      [7]uintptr
}

func (e *ending) do(d *cu.Driver, f cu.Function, handle uintptr) error {
	e.call.Proc, e.call.Scope, e.call.N, e.handle = d.Proc(f), d.Scope(), 1, handle
	return d.Result(f, loader.InvokeEscaping(&e.call))
}

// newKeep begins the lifetime of a graph of c.
func newKeep(c *driver.Context, kind string) (*keep, error) {
	of := c.Lifetime()
	if of == nil {
		_, err := life.New(c.Lifetime(), kind) // says why not
		return nil, err
	}
	k := new(keep)
	k.life.SetKind(kind)
	if err := k.life.BeginIn(of); err != nil {
		return nil, err
	}
	k.refs = retain.New()
	return k, nil
}

// abandon is for a graph that will not be.
func (k *keep) abandon(err error) error {
	k.refs.Release()
	return k.life.Abandon(err)
}

// Destroy implements life.Destroyer.
func (k *keep) Destroy(d *cu.Driver) error {
	var err error
	if !k.borrowed {
		err = k.ends.do(d, cu.FnCuGraphDestroy, uintptr(k.raw))
	}
	k.refs.Release()
	return err
}

// New returns an empty graph for operations of c.
func New(c *driver.Context) (*Graph, error) {
	k, err := newKeep(c, "graph")
	if err != nil {
		return nil, err
	}
	var raw driver.CUgraph
	if err := c.Driver().CuGraphCreate(&raw, 0); err != nil {
		return nil, k.abandon(err)
	}
	g := own(c, k, raw)
	g.table = tables.Get().(*[]cu.CUgraphNode)
	g.raws = (*g.table)[:0]
	return g, nil
}

// own makes a Graph of a driver's graph, which it destroys when it is closed.
func own(c *driver.Context, k *keep, raw driver.CUgraph) *Graph {
	d := c.Driver()
	g := new(Graph) // filled field by field: to copy it would cost as much as all of this
	g.seq, g.life, g.ctx, g.d, g.raw, g.keep = graphs.Add(1), &k.life, c, d, raw, k
	g.accesses, g.v2 = access.New(), d.Has(cu.FnCuGraphAddKernelNode)
	g.mu = &g.latch
	k.raw = raw
	g.watch.Own(&k.life, uint64(raw), k)
	return g
}

// Close destroys the graph. Its Execs remain. A graph nested in a node is destroyed with that node,
// and Close does nothing.
func (g *Graph) Close() error {
	if !g.exists() {
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
	return g.watch.Close(g.life)
}

// giveTable gives back what own borrowed.
func (g *Graph) giveTable() {
	if g.table != nil {
		*g.table = g.raws
		tables.Put(g.table)
	}
	if g.accesses != access.None {
		g.accesses.Recycle()
		g.accesses = access.None
	}
	g.table, g.raws, g.index = nil, nil, nil
}

// Raw returns the driver's handle, 0 for a nil graph.
func (g *Graph) Raw() driver.CUgraph {
	if !g.exists() {
		return 0
	}
	return g.raw
}

// Context returns the context that the graph was made for.
func (g *Graph) Context() *driver.Context {
	if !g.exists() {
		return nil
	}
	return g.ctx
}

// Lifetime returns the graph's ownership record.
func (g *Graph) Lifetime() *life.Lifetime {
	if !g.exists() {
		return nil
	}
	return g.life
}

// String describes the graph.
func (g *Graph) String() string {
	if !g.exists() {
		return absentName(g == nil, &aGraph)
	}
	return fmt.Sprintf("graph %#x", uintptr(g.raw))
}

// Keep keeps things alive until the graph, and every Exec instantiated from now on, is closed. It is
// for nodes whose parameters the graph does not know, such as those that other libraries captured.
// A thing is an object of this module such as a Pool, the list of an operation's Refs, a value with a
// method Ref, such as a buffer, or any other Go value, which stays reachable.
func (g *Graph) Keep(things ...any) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	refs, values, err := kept(things)
	if err != nil {
		return err
	}
	return g.changeRefs().RetainThings(refs, values)
}

// changeRefs returns what the graph keeps alive, to be changed.
func (g *Graph) changeRefs() *retain.References {
	if o := g.keep.refs; o.Alone() {
		return o
	}
	g.keep.refs = g.keep.refs.Writable()
	return g.keep.refs
}

// commitNew gives what o holds to a node that is about to be entered. Graphs
// that lie in a node keep what their nodes refer to as long as the outermost
// graph, whose numbers of nodes are others.
func (g *Graph) commitNew(o *retain.References) {
	if g.part {
		o.CommitLoose()
		return
	}
	o.CommitNew()
}

// commit gives what o holds to a node in place of what it had.
func (g *Graph) commit(o *retain.References, n Node) {
	if g.part {
		o.CommitLoose()
		return
	}
	o.Commit(n.i)
}

// alive ends a call: g was reachable, so not reclaimed, until here.
func (g *Graph) alive() { runtime.KeepAlive(g) }
