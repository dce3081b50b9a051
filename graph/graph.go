package graph

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// Graph is work described by nodes and the dependencies between them. To run it, instantiate an
// [Exec]. Later changes of the graph do not affect existing Execs.
type Graph struct {
	mu    *loader.Latch  // locked during every driver call on raw; shared with nested graphs
	d     *driver.Driver // bound to ctx
	raw   driver.CUgraph
	ctx   *driver.Context
	keep  *keep
	latch loader.Latch              // target of mu, unless the graph is nested
	shut  bool                      // Close was called
	part  bool                      // nested in a node of outer, which owns keep and mu
	v2    bool                      // the driver has the kernel node parameters of CUDA 12.0
	index map[cu.CUgraphNode]uint32 // index in raws; nil until a lookup needs it
	raws  []cu.CUgraphNode          // handles by node number; 0 for a destroyed node

	removals uint32 // number of destroyed nodes

	accesses *access.Sets // memory accesses of the nodes

	life       *life.Lifetime
	watch      life.Watched
	seq        uint64 // place in the lock order; if nested, the place of outer
	outer      *Graph
	in         Node                      // the node that contains this graph, if it is nested
	parts      map[driver.CUgraph]*Graph // nested graphs that were requested; only in an outermost graph
	conds      *conds                    // conditional nodes; only in an outermost graph
	rec        *recording                // the capture that records into the graph; only in an outermost graph
	lost       error                     // reason why the graph was closed, if the program did not close it
	table      *[]cu.CUgraphNode         // storage of raws, borrowed from tables
	names      names
	users      map[cu.CUuserObject]int // number of references to each user object
	from       []cu.CUgraphNode        // buffers for lists of nodes
	to         []cu.CUgraphNode
	data       []cu.CUgraphEdgeData
	attributes map[cu.CUgraphNode]attributeSet // nodes that were given launch attributes
	moved      bool                            // AddChildMove has moved the graph into its node
	mixed      bool                            // some nodes belong to other contexts; only in an outermost graph
}

// tables are the node lists of closed graphs, for reuse.
var tables = sync.Pool{New: func() any { return new([]cu.CUgraphNode) }}

var graphs atomic.Uint64

// keep contains everything that destroying a graph needs. It must not refer to the Graph, or the
// Graph would never become unreachable.
type keep struct {
	life     life.Lifetime // lifetime of the outermost graph; unused in a Plan
	refs     *retain.References
	raw      driver.CUgraph
	borrowed bool // the owner of raw destroys it, not this Graph
	ends     ending
}

// ending is the argument block of a call that destroys an object. The driver may run a callback
// during such a call, so its block must not be on the stack.
type ending struct {
	call   loader.Call
	handle uintptr
	_      [7]uintptr
}

func (e *ending) do(d *cu.Driver, f cu.Function, handle uintptr) error {
	e.call.Proc, e.call.Scope, e.call.N, e.handle = d.Proc(f), d.Scope(), 1, handle
	return d.Result(f, loader.InvokeEscaping(&e.call))
}

func newKeep(c *driver.Context, kind string) (*keep, error) {
	of := c.Lifetime()
	if of == nil {
		_, err := life.New(c.Lifetime(), kind) // fails again and returns the reason
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

// abandon ends the lifetime of a graph that could not be created.
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

// own returns a Graph that owns raw and destroys it when closed.
func own(c *driver.Context, k *keep, raw driver.CUgraph) *Graph {
	d := c.Driver()
	g := new(Graph) // field by field, because copying a whole Graph would double the cost of own
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
	g.lockLatch() // waits for a call in progress
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

// giveTable returns the borrowed tables to their pools.
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

// Raw returns the driver's handle, or 0 for a nil graph.
func (g *Graph) Raw() driver.CUgraph {
	if !g.exists() {
		return 0
	}
	return g.raw
}

// Context returns the context that the graph was created for.
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

// Keep keeps objects alive until the graph and every Exec instantiated from now on are closed. Use
// it for nodes whose parameters the graph does not know, such as nodes that other libraries
// captured. Each argument can be an object of this module such as a Pool, the Refs of an operation,
// a value with a method Ref such as a buffer, or any other Go value, which stays reachable.
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

// changeRefs makes the graph's references writable and returns them. If other graphs or Execs share
// them, it first replaces them with a copy.
func (g *Graph) changeRefs() *retain.References {
	if o := g.keep.refs; o.Alone() {
		return o
	}
	g.keep.refs = g.keep.refs.Writable()
	return g.keep.refs
}

// commitNew assigns the new references in o to the node that is about to be added. For a nested
// graph, which numbers its nodes differently, it assigns them to no node. They are then retained
// until the outermost graph is closed.
func (g *Graph) commitNew(o *retain.References) {
	if g.part {
		o.CommitLoose()
		return
	}
	o.CommitNew()
}

// commit replaces the references of a node with the new references in o.
func (g *Graph) commit(o *retain.References, n Node) {
	if g.part {
		o.CommitLoose()
		return
	}
	o.Commit(n.i)
}

// alive keeps g reachable until the preceding driver call has returned, so that a collection cannot
// destroy the graph during the call.
func (g *Graph) alive() { runtime.KeepAlive(g) }

func (g *Graph) exists() bool { return g != nil && g.ctx != nil }

// lock locks the graph for a call. It returns an error if the graph is nil, zero or closed.
func (g *Graph) lock() error {
	if !g.exists() {
		return aGraph.Error(g == nil)
	}
	mu := g.latchNow()
	mu.Lock()
	if !g.shut && !g.part && g.rec == nil {
		return nil
	}
	g.retake(mu)
	if err := g.closed(); err != nil {
		g.mu.Unlock()
		return err
	}
	return nil
}

func (g *Graph) closed() error {
	switch {
	case g.lost != nil:
		return g.lost
	case g.part && g.shut:
		return fmt.Errorf("graph in a node that was destroyed: %w", driver.ErrClosed)
	case g.outermost().rec != nil:
		return g.outermost().rec.broken()
	}
	return g.life.Check()
}

// lockBoth locks two graphs for a call, in the order of lockSeq.
func lockBoth(a, b *Graph) (unlock func(), err error) {
	for _, g := range [...]*Graph{a, b} {
		if !g.exists() {
			return nil, aGraph.Error(g == nil)
		}
	}
	if a.latchNow() == b.latchNow() {
		return nil, invalid("%v and %v are the same graph, or one is a part of the other", a, b)
	}
	if a.lockSeq() > b.lockSeq() {
		a, b = b, a
	}
	if err := a.lock(); err != nil {
		return nil, err
	}
	if err := b.lock(); err != nil {
		a.mu.Unlock()
		return nil, err
	}
	return func() { b.mu.Unlock(); a.mu.Unlock() }, nil
}

// latchNow and setLatch access g.mu atomically, because it changes when a graph is moved into
// another. Code that has locked g can read the field directly.
func (g *Graph) latchNow() *loader.Latch {
	return (*loader.Latch)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&g.mu))))
}

func (g *Graph) setLatch(mu *loader.Latch) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&g.mu)), unsafe.Pointer(mu))
}

// lockSeq is the lock order of graphs. A graph and its nested graphs have the same number.
func (g *Graph) lockSeq() uint64 { return atomic.LoadUint64(&g.seq) }

// lockLatch locks g.mu, even if another goroutine changes it concurrently.
func (g *Graph) lockLatch() {
	mu := g.latchNow()
	mu.Lock()
	g.retake(mu)
}

// retake is called with mu locked. If mu is no longer g's lock, retake locks the current one
// instead.
func (g *Graph) retake(mu *loader.Latch) {
	for now := g.latchNow(); now != mu; now = g.latchNow() {
		mu.Unlock()
		mu = now
		mu.Lock()
	}
}

// names are the names of nodes. They have their own lock, because error messages are formatted
// while the graph is locked.
type names struct {
	mu   sync.Mutex
	byID map[uint32]string
}

func (s *names) get(i uint32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[i]
}

// set names a node. An empty name removes the node's name.
func (s *names) set(i uint32, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" {
		delete(s.byID, i)
		return
	}
	if s.byID == nil {
		s.byID = make(map[uint32]string)
	}
	s.byID[i] = name
}

func sameDriver(c *driver.Context, what any, of *driver.Context) error {
	return refusal.OtherDriver(c, what, of)
}

func sameContext(c *driver.Context, what any, of *driver.Context) error {
	return refusal.OtherContext(c, what, of)
}

// Descriptions for the errors of methods on nil and zero objects.
var (
	aBinding = absent.Kind{Name: "Bindings", Make: "Exec.Bindings", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aBurst   = absent.Kind{Name: "Burst", Make: "Scope.Burst", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aCapture = absent.Kind{Name: "capture", Make: "graph.Begin", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aCond    = absent.Kind{Name: "Cond", Make: "Graph.NewCond or Scope.NewCond", Code: driver.CUDA_ERROR_INVALID_VALUE}
	anExec   = absent.Kind{Name: "executable graph", Make: "Graph.Instantiate", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aGraph   = absent.Kind{Name: "graph", Make: "graph.New or graph.Capture", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aNode    = absent.Kind{Name: "Node", Make: "Graph.Add or another method of Graph", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aParam   = absent.Kind{Name: "Param", Make: "graph.Bind or graph.BindName", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aPlan    = absent.Kind{Name: "graph plan", Make: "graph.NewPlan", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aPool    = absent.Kind{Name: "keep-alive pool", Make: "graph.NewPool", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aScalar  = absent.Kind{Name: "scalar", Make: "graph.NewScalar", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aScope   = absent.Kind{Name: "Scope", Make: "graph.Capture or graph.Begin", Code: driver.CUDA_ERROR_INVALID_VALUE}
)

func absentName(isNil bool, k *absent.Kind) string {
	if isNil {
		return "nil " + k.Name
	}
	return "zero " + k.Name
}

// tooOld is the error for a feature that can be detected only by the driver's version.
type tooOld struct{ msg string }

func (e *tooOld) Error() string { return e.msg }

// Unwrap makes errors.Is match ErrNotSupported and the driver's code for it.
func (e *tooOld) Unwrap() []error {
	return []error{driver.ErrNotSupported, driver.CUDA_ERROR_NOT_SUPPORTED}
}

// needs returns an error if the driver is older than CUDA version since, for example 12080 for
// 12.8.
func needs(d *driver.Driver, what string, since int) error {
	v := d.Version()
	if v >= since {
		return nil
	}
	return &tooOld{fmt.Sprintf("%s: it came with CUDA %d.%d, and the installed driver supports CUDA %d.%d",
		what, since/1000, since%1000/10, v/1000, v%1000/10)}
}

// ErrEnded matches the error of using a Scope or Recording whose capture ended.
var ErrEnded = errors.New("capture has ended")

// ErrEmptyCapture matches the error of a capture that ended without error but returned no graph.
var ErrEmptyCapture = errors.New("capture gave no graph")

func refuse(code driver.CUresult, format string, args ...any) error {
	return refusal.New(code, format, args...)
}

func invalid(format string, args ...any) error { return refusal.Invalid(format, args...) }

func join(errs []error) error { return refusal.Join(errs) }

func resultOf(err error) driver.CUresult { return refusal.Code(err) }
