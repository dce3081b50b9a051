package graph

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/captures"
)

// The body of a conditional node is captured into a separate graph, whose nodes are then recreated
// in the body. CUDA can capture directly into the body. But if such a capture is invalidated, the
// driver frees the graph that the node still owns. The next use of the node then crashes the
// process (seen on driver 580; also github.com/NVIDIA/cuda-python, issue 2918). With a separate
// graph, a failed capture changes nothing.

// body is a captured body that is not yet part of a conditional node.
type body struct {
	g      *Graph
	last   []Node // nodes that the next operation would depend on
	nested []planned
}

// planned is a conditional node that will replace an empty node. It cannot be added during the
// capture, because its condition handle must belong to the graph that will contain the body.
type planned struct {
	at     cu.CUgraphNode
	form   form
	cond   Cond
	bodies []*body
}

// captureBody captures on s a body that will be nested in home. If record is nil, the body is
// empty.
func captureBody(home *Graph, s *driver.Stream, mode Mode, record func(*Scope) error) (*body, error) {
	if record == nil {
		record = func(*Scope) error { return nil }
	}
	r, err := beginAt(target{}, s, mode, captures.EntryOf(record))
	if err != nil {
		return nil, err
	}
	r.home = home
	defer r.abandon()                             // record panicked or called runtime.Goexit
	defer func() { _ = closeNested(r.planned) }() // closes the conditional nodes of a body that failed
	if err = record(&r.scope); err == nil {
		g, last, ended := r.endNodes(nil)
		if ended != nil {
			return nil, ended
		}
		if err := g.fitsBody(); err != nil {
			return nil, join([]error{err, g.Close()})
		}
		b := &body{g, last, r.planned}
		r.planned = nil
		return b, nil
	}
	_, err = r.end(err)
	return nil, err
}

func closeNested(list []planned) error {
	var errs []error
	for _, p := range list {
		errs = append(errs, closeBodies(p.bodies))
	}
	return join(errs)
}

func closeBodies(bodies []*body) error {
	var errs []error
	for _, b := range bodies {
		errs = append(errs, b.close())
	}
	return join(errs)
}

func (b *body) close() error {
	return join([]error{closeNested(b.nested), b.g.Close()})
}

// captureIntoBody captures s and recreates the recorded nodes after deps in g, a body. It returns
// the last nodes.
func (g *Graph) captureIntoBody(s *driver.Stream, mode Mode, deps []Node, record func(*Scope) error) ([]Node, error) {
	b, err := captureBody(g.outermost(), s, mode, record)
	if err != nil {
		return nil, err
	}
	last, err := g.takeBody(b, deps)
	b.g.endAs(fmt.Errorf("%v was recorded for %v, which has new nodes: use those of WithLast, or those that Nodes lists: %w", b.g, g, driver.ErrClosed))
	if err := join([]error{err, b.close()}); err != nil {
		return nil, fmt.Errorf("cannot capture %v into %v: %w", s, g, err)
	}
	return last, nil
}

// takeBody recreates the nodes of a captured body in g, after deps. It returns the clones of
// b.last.
func (g *Graph) takeBody(b *body, deps []Node) (last []Node, err error) {
	unlock, err := lockBoth(g, b.g)
	if err != nil {
		return nil, err
	}
	defer unlock()
	from, err := g.dependencies(deps)
	if err != nil {
		return nil, err
	}
	m := newMover(b.g, g)
	if err := m.move(b, from, len(deps)); err != nil {
		return nil, join([]error{err, m.undo()})
	}
	for _, n := range b.last {
		last = append(last, g.node(m.clones[n.handle()]))
	}
	return last, nil
}

// adopt recreates the captured nodes in body i of a new node. The caller must hold the lock of that
// node's graph. The captured Graph object then represents the body. So nodes that the program
// obtained while recording are nodes of the body, and keep their names. Graphs are locked in the
// order of their creation, so the captured graph is locked second.
func (k *conditional) adopt(i int, b *body) error {
	g := b.g
	if err := g.lock(); err != nil {
		return err
	}
	latch, life := g.mu, g.life
	defer latch.Unlock()
	outer := k.node.g.outermost()
	if err := outer.retainUsers(g.users); err != nil {
		return err
	}
	o := outer.changeRefs()
	o.RetainOf(g.keep.refs)
	o.CommitLoose()
	m := g.become(k.bodies[i])
	k.bodies[i] = g
	_, err := m.nodes(b.nested)
	return join([]error{err, life.Close()})
}

// retainUsers makes the graph retain user objects of another graph, which is about to be destroyed.
func (g *Graph) retainUsers(users map[cu.CUuserObject]int) error {
	for u, n := range users {
		if n == 0 {
			continue
		}
		if err := g.ctx.Guarded().CuGraphRetainUserObject(g.raw, u, uint32(n), 0); err != nil {
			return err
		}
		if g.users == nil {
			g.users = make(map[cu.CUuserObject]int)
		}
		g.users[u] += n
	}
	return nil
}

// become makes g, a captured graph, represent the empty body that its argument represented. The
// returned mover recreates the captured nodes in the body with the same node numbers. The driver's
// captured graph then belongs only to its Lifetime, which destroys it when closed.
func (g *Graph) become(to *Graph) *mover {
	from := g.like(g.raw)
	from.attributes = g.attributes
	m := newMover(from, g)
	m.numbers = make(map[cu.CUgraphNode]uint32, len(g.raws))
	for i, raw := range g.raws {
		if raw != 0 {
			m.numbers[raw] = uint32(i)
		}
	}
	for _, p := range g.parts {
		p.end(fmt.Errorf("%v was in a node that was recorded for %v; use the graph of the node there: %w", p, to, driver.ErrClosed))
	}
	clear(g.raws)
	g.parts, g.index, g.attributes, g.table, g.users = nil, nil, nil, nil, nil
	g.raw, g.part, g.outer, g.in = to.raw, true, to.outer, to.in
	to.outer.mixed = to.outer.mixed || g.mixed
	to.outer.enterPart(g)
	return m
}

// end makes a nested graph unusable, because the driver is about to destroy it. Later uses return
// the error in why.
func (g *Graph) end(why error) { g.shut, g.lost = true, why }

// endAs sets the error that later uses of a closed graph return. The caller is about to close it.
func (g *Graph) endAs(why error) {
	g.lockLatch()
	defer g.mu.Unlock()
	g.lost = why
}

// mover recreates the nodes of one graph in another. The caller must hold the locks of both graphs.
type mover struct {
	from, to *Graph
	clones   map[cu.CUgraphNode]cu.CUgraphNode
	made     []cu.CUgraphNode
	numbers  map[cu.CUgraphNode]uint32 // node numbers to use in the target graph
}

func newMover(from, to *Graph) *mover {
	return &mover{from: from, to: to, clones: make(map[cu.CUgraphNode]cu.CUgraphNode)}
}

// move recreates the nodes of a body after the n nodes at deps. The target graph retains everything
// that the body's graph retains.
func (m *mover) move(b *body, deps *cu.CUgraphNode, n int) error {
	o := m.to.changeRefs()
	o.RetainOf(m.from.keep.refs)
	o.CommitLoose()
	m.to.accesses.CopiedFrom(m.from.accesses)
	raws, err := m.nodes(b.nested)
	if err != nil {
		return err
	}
	return m.orderAfter(raws, unsafe.Slice(deps, n))
}

// nodes recreates the captured nodes and the edges between them. Planned conditional nodes replace
// their empty nodes.
func (m *mover) nodes(nested []planned) ([]cu.CUgraphNode, error) {
	later := make(map[cu.CUgraphNode]*planned, len(nested))
	for i := range nested {
		later[nested[i].at] = &nested[i]
	}
	raws, err := m.from.handles()
	if err != nil {
		return nil, err
	}
	for _, raw := range raws {
		if err := m.node(raw, later[raw]); err != nil {
			return nil, err
		}
	}
	return raws, m.edges()
}

func (m *mover) node(raw cu.CUgraphNode, p *planned) error {
	if p != nil {
		return m.conditional(raw, p)
	}
	var t Type
	if err := m.from.d.CuGraphNodeGetType(raw, &t); err != nil {
		return err
	}
	clone, err := m.cloneNode(raw, t)
	if err != nil {
		return err
	}
	m.enter(raw, clone)
	return nil
}

func (m *mover) enter(raw, clone cu.CUgraphNode) Node {
	m.clones[raw] = clone
	m.made = append(m.made, clone)
	i, numbered := m.numbers[raw]
	if !numbered {
		return m.to.added(clone)
	}
	m.to.raws[i] = clone
	if set, found := m.from.attributes[raw]; found {
		m.to.noteAttributes(clone, set)
	}
	return Node{m.to, i}
}

func (m *mover) conditional(raw cu.CUgraphNode, p *planned) error {
	if err := p.cond.usable(m.to); err != nil {
		return p.form.addError(m.to, err)
	}
	clone, bodies, err := m.to.addConditionalRaw(p.form, p.cond, nil, nil, 0)
	if err != nil {
		return p.form.addError(m.to, err)
	}
	return m.enter(raw, clone).enterBodies(p.form, p.cond, bodies).fill(p.bodies)
}

func (k *conditional) fill(bodies []*body) error {
	for i, b := range bodies {
		if err := k.adopt(i, b); err != nil {
			return fmt.Errorf("body %d of a %v node: %w", i, k.form, err)
		}
	}
	return nil
}

func (m *mover) edges() error {
	from, to, data, err := m.from.rawEdgeLists()
	if err != nil || len(from) == 0 {
		return err
	}
	for i := range from {
		from[i], to[i] = m.clones[from[i]], m.clones[to[i]]
	}
	if m.to.d.Has(cu.FnCuGraphAddDependencies) {
		return byData(from, to, data, func(from, to *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) error {
			return m.to.d.CuGraphAddDependencies(m.to.raw, from, to, data, n)
		})
	}
	return m.to.d.CuGraphAddDependencies_v10000(m.to.raw, &from[0], &to[0], uintptr(len(from)))
}

func (m *mover) orderAfter(raws, deps []cu.CUgraphNode) error {
	if len(raws) == 0 || len(deps) == 0 {
		return nil
	}
	roots, err := m.from.handlesBy((*driver.Driver).CuGraphGetRootNodes)
	if err != nil {
		return err
	}
	g := m.to
	g.from, g.to = g.from[:0], g.to[:0]
	for _, r := range roots {
		for _, d := range deps {
			g.from, g.to = append(g.from, d), append(g.to, m.clones[r])
		}
	}
	return g.addEdges()
}

func (m *mover) undo() error {
	var errs []error
	for i := len(m.made) - 1; i >= 0; i-- {
		errs = append(errs, m.to.remove(m.made[i]))
	}
	return join(errs)
}

// cloneNode adds to m.to a node with the type and parameters of raw, a node of m.from. The type
// must be one of bodyTypes.
func (m *mover) cloneNode(raw cu.CUgraphNode, t Type) (n cu.CUgraphNode, err error) {
	d, to, ctx := m.to.d, m.to.raw, m.to.ctx.Raw()
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		return m.kernel(raw)
	case cu.CU_GRAPH_NODE_TYPE_GRAPH:
		return m.child(raw)
	case cu.CU_GRAPH_NODE_TYPE_EMPTY:
		err = d.CuGraphAddEmptyNode(&n, to, nil, 0)
	case cu.CU_GRAPH_NODE_TYPE_MEMCPY:
		var p cu.CUDA_MEMCPY3D
		if err = d.CuGraphMemcpyNodeGetParams(raw, &p); err == nil {
			err = d.CuGraphAddMemcpyNode(&n, to, nil, 0, &p, ctx)
		}
	case cu.CU_GRAPH_NODE_TYPE_MEMSET:
		var p cu.CUDA_MEMSET_NODE_PARAMS
		if err = d.CuGraphMemsetNodeGetParams(raw, &p); err == nil {
			err = d.CuGraphAddMemsetNode(&n, to, nil, 0, &p, ctx)
		}
	default:
		err = notInBody(t)
	}
	return n, err
}

func (m *mover) kernel(raw cu.CUgraphNode) (n cu.CUgraphNode, err error) {
	d := m.to.d
	var p cu.CUDA_KERNEL_NODE_PARAMS
	if m.to.v2 {
		if err = d.CuGraphKernelNodeGetParams(raw, &p); err == nil {
			err = d.CuGraphAddKernelNode(&n, m.to.raw, nil, 0, &p)
		}
	} else {
		if err = d.CuGraphKernelNodeGetParams_v10000(raw, v1(&p)); err == nil {
			err = d.CuGraphAddKernelNode_v10000(&n, m.to.raw, nil, 0, v1(&p))
		}
	}
	if err != nil {
		return 0, err
	}
	if err := d.CuGraphKernelNodeCopyAttributes(n, raw); err != nil {
		return 0, join([]error{err, d.CuGraphDestroyNode(n)})
	}
	return n, nil
}

// child recreates a child graph node. Driver 580 rejects a graph nested in a node as the child of
// another node, so child passes it a copy.
func (m *mover) child(raw cu.CUgraphNode) (n cu.CUgraphNode, err error) {
	from, to := m.from.like(0), m.to.like(0)
	if err := m.from.d.CuGraphChildGraphNodeGetGraph(raw, &from.raw); err != nil {
		return 0, err
	}
	if err := m.to.d.CuGraphCreate(&to.raw, 0); err != nil {
		return 0, err
	}
	if _, err = newMover(from, to).nodes(nil); err == nil {
		err = m.to.d.CuGraphAddChildGraphNode(&n, m.to.raw, nil, 0, to.raw)
	}
	destroyed := m.to.ctx.Guarded().CuGraphDestroy(to.raw)
	return n, join([]error{err, destroyed})
}

// like returns a temporary Graph object for raw, with the driver, context and outermost graph of g.
func (g *Graph) like(raw driver.CUgraph) *Graph {
	return &Graph{raw: raw, d: g.d, ctx: g.ctx, v2: g.v2, part: true, outer: g.outermost()}
}

// bodyTypes are the node types that CUDA supports in bodies, except conditional nodes, which only a
// Scope can record.
var bodyTypes = map[Type]bool{
	cu.CU_GRAPH_NODE_TYPE_KERNEL: true, cu.CU_GRAPH_NODE_TYPE_MEMCPY: true,
	cu.CU_GRAPH_NODE_TYPE_MEMSET: true, cu.CU_GRAPH_NODE_TYPE_GRAPH: true,
	cu.CU_GRAPH_NODE_TYPE_EMPTY: true,
}

// notInBody returns the error for a node type that is not in bodyTypes. A conditional node that no
// Scope recorded cannot be recreated, because its bodies are unknown.
func notInBody(t Type) error {
	if t == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
		return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"a conditional node was recorded without the Scope; use its If, IfElse, While and Switch")
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "%v: CUDA does not allow it in the body of a conditional node, only kernels, copies, fills, empty nodes, child graphs and conditional nodes", t)
}

// fitsBody returns an error if the graph or one of its child graphs has an unsupported node type.
// It runs before anything is recreated.
func (g *Graph) fitsBody() error {
	g.lockLatch()
	defer g.mu.Unlock()
	return g.allFit()
}

func (g *Graph) allFit() error {
	raws, err := g.handles()
	if err != nil {
		return err
	}
	for _, raw := range raws {
		if err := g.nodeFits(raw); err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) nodeFits(raw cu.CUgraphNode) error {
	var t Type
	if err := g.d.CuGraphNodeGetType(raw, &t); err != nil {
		return err
	}
	if !bodyTypes[t] {
		return notInBody(t)
	}
	if t != cu.CU_GRAPH_NODE_TYPE_GRAPH {
		return nil
	}
	child := g.like(0)
	if err := g.d.CuGraphChildGraphNodeGetGraph(raw, &child.raw); err != nil {
		return err
	}
	return child.allFit()
}

// bodyTakes rejects operations that CUDA does not support in a body. The driver would reject them
// only at instantiation.
func bodyTakes(op driver.Op) error {
	switch op.(type) {
	case nil, *driver.Launch, *driver.CopyOp, *driver.FillOp:
		return nil
	}
	return refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
		"the body of a conditional node takes kernels, copies, fills, empty nodes, child graphs and conditional nodes, not a %T", op)
}

func (p *Plan) allowedIn(g *Graph) error {
	if !g.part || !g.inBody() {
		return nil
	}
	for i := range p.kinds {
		if err := bodyTakes(p.kinds[i].op); err != nil {
			return fmt.Errorf("item %d: %w", p.kinds[i].item, err)
		}
	}
	return nil
}
