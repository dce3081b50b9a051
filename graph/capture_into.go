package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/hostthread"
)

// target holds the options of a capture. Without WithTarget, the capture creates a graph.
type target struct {
	g      *Graph
	chosen bool // WithTarget was given, possibly with a nil graph
	deps   []Node
	last   *[]Node                 // see WithLast
	before map[cu.CUgraphNode]bool // nodes of g before the capture
}

// CaptureOption configures Capture and Begin.
type CaptureOption func(*target)

// WithTarget captures into an existing graph, which may be nested in a node of another graph (CUDA
// 12.3). The recorded work runs after deps, and the capture returns g. WithLast stores the last
// nodes.
//
// If the capture fails, or leaves a fork that was not joined, the graph is unchanged. The exception
// is a graph with memory nodes. CUDA cannot remove nodes from it, so the recorded work stays, and
// the error says so. If the capture is invalidated, CUDA destroys the graph with everything in it.
// To avoid that risk, capture a new graph and use AddChild. A capture into a graph nested in a
// child graph node does so automatically. Otherwise CUDA would destroy a graph that the node still
// refers to.
//
// A capture into the body of a conditional node creates the nodes in the body when it ends without
// an error. It supports kernels, copies, fills, empty nodes, child graphs, and conditional nodes
// recorded with Scope.If, IfElse, While and Switch. Nodes obtained from its scope become invalid
// when the capture ends. Use the nodes of WithLast instead.
//
// Until the capture ends, the graph cannot be closed or captured into again, and its nodes cannot
// be destroyed.
func WithTarget(g *Graph, deps ...Node) CaptureOption {
	return func(t *target) { t.g, t.chosen, t.deps = g, true, deps }
}

// WithLast stores the last nodes when the capture ends without an error. A node that depends on
// them runs after all recorded work.
func WithLast(nodes *[]Node) CaptureOption {
	return func(t *target) { t.last = nodes }
}

// targetOf applies options. Applying options moves the target to the heap, so Capture calls
// targetOf only if there are any.
func targetOf(opts []CaptureOption) target {
	var t target
	absent.Apply(opts, &t)
	return t
}

func (t *target) ended(last []Node) {
	if t.last != nil {
		*t.last = last
	}
}

func (g *Graph) inNode() (bool, error) {
	if err := g.lock(); err != nil {
		return false, err
	}
	defer g.mu.Unlock()
	return g.part, nil
}

// endNodes is like end. It also returns the last nodes: work that depends on them runs after all
// recorded work.
func (r *recording) endNodes(cause error) (*Graph, []Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.mayEnd(); err != nil {
		return nil, nil, err
	}
	var last []Edge
	if cause == nil {
		last, cause = r.last()
	}
	g, err := r.finish(cause)
	if err != nil {
		return nil, nil, err
	}
	return g, froms(last), nil
}

// last returns the edges to the next operation. An invalidated capture has none, and ending it
// returns the reason.
func (r *recording) last() ([]Edge, error) {
	i, err := r.info(r.s)
	if err != nil || i.status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
		return nil, err
	}
	return r.pending(r.s)
}

func (r *recording) beginInto() error {
	g := r.into.g
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := r.enters(g); err != nil {
		return fmt.Errorf("into %v: %w", g, err)
	}
	r.g = g
	g.rec = r
	return nil
}

func (r *recording) enters(g *Graph) error {
	if g.rec != nil {
		return g.rec.refuses("captured into")
	}
	if err := sameDriver(g.ctx, r.s, r.s.Context()); err != nil {
		return err
	}
	from, err := g.dependencies(r.into.deps)
	if err != nil {
		return err
	}
	if err := r.remember(g); err != nil {
		return err
	}
	return r.s.Context().Driver().CuStreamBeginCaptureToGraph(r.s.Raw(), g.raw, from, nil, uintptr(len(r.into.deps)), r.mode)
}

func (r *recording) remember(g *Graph) error {
	raws, err := g.handles()
	if err != nil {
		return err
	}
	r.into.before = make(map[cu.CUgraphNode]bool, len(raws))
	for _, raw := range raws {
		r.into.before[raw] = true
	}
	return nil
}

// undo destroys the nodes that were added to the target graph since the capture began, whether
// recorded or added by the program.
func (r *recording) undo() error {
	g := r.into.g
	g.lockLatch()
	defer g.mu.Unlock()
	raws, err := g.handles()
	errs := []error{err}
	for i := len(raws) - 1; i >= 0; i-- {
		if !r.into.before[raws[i]] {
			errs = append(errs, g.remove(raws[i]))
		}
	}
	if err := join(errs); err != nil {
		return fmt.Errorf("what was recorded stays in %v: %w", g, err)
	}
	return nil
}

func (g *Graph) remove(raw cu.CUgraphNode) error {
	n := g.node(raw)
	if err := g.ctx.Guarded().CuGraphDestroyNode(raw); err != nil {
		return err
	}
	g.removed(n)
	return nil
}

// captureIntoPart captures into a graph that is nested in a node. If CUDA captured into that graph
// directly and failed, it would destroy a graph that the node refers to. The next use of the node
// would crash the process (seen on driver 580). So the recorded work is recreated in the nested
// graph if that is a body, and otherwise becomes a child graph in it.
func (t *target) captureIntoPart(s *driver.Stream, mode Mode, record func(*Scope) error) (*Graph, error) {
	g := t.g
	if err := g.takes(s, t.deps); err != nil {
		return nil, fmt.Errorf("cannot capture %v into %v: %w", s, g, err)
	}
	if g.isBody() {
		last, err := g.captureIntoBody(s, mode, t.deps, record)
		if err != nil {
			return nil, err
		}
		t.ended(last)
		return g, nil
	}
	child, err := Capture(s, mode, record)
	if err != nil {
		return nil, err
	}
	n, err := g.AddChild(child, t.deps...)
	if err := join([]error{err, child.Close()}); err != nil {
		return nil, err
	}
	t.ended([]Node{n})
	return g, nil
}

// takes checks s and deps before anything is recorded.
func (g *Graph) takes(s *driver.Stream, deps []Node) error {
	if err := s.Ready(); err != nil {
		return err
	}
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	_, err := g.dependencies(deps)
	return join([]error{err, sameDriver(g.ctx, s, s.Context())})
}

// joinAll joins the forks that the program did not join in a capture into an existing graph, and
// returns an error for them. Without the join, the driver would destroy the graph. If the capture
// is invalidated, the join fails and the driver destroys the graph anyway.
func (r *recording) joinAll() (err error) {
	if r.into.g == nil {
		return nil
	}
	for _, b := range r.branches[1:] {
		if b.open {
			_ = b.order(r.s) // if this fails, ending the capture fails too
			err = driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
		}
	}
	return err
}

// Graph returns the graph that is being recorded, to inspect it and to add nodes to it. The capture
// returns the same graph when it ends. Added nodes run after their own dependencies. To make later
// recorded work run after them, use SetDependencies.
//
// Until the capture ends, the graph cannot be closed and nodes cannot be destroyed. If the capture
// fails, the graph is closed.
func (sc *Scope) Graph() (*Graph, error) {
	r, err := sc.lockUsable()
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	return r.graph()
}

// graph returns the Graph that is being recorded, which it creates on first use. From then on,
// operations are recorded under the graph's lock.
func (r *recording) graph() (*Graph, error) {
	if r.g != nil {
		return r.g, nil
	}
	i, err := r.info(r.s)
	if err != nil {
		return nil, fmt.Errorf("capture of %v: %w", r.s, err)
	}
	if err := i.active(r); err != nil {
		return nil, err
	}
	r.g = own(r.s.Context(), r.made, i.graph)
	r.g.lockLatch()
	defer r.g.mu.Unlock()
	r.g.rec = r
	return r.g, nil
}

func (r *recording) release() {
	r.g.lockLatch()
	defer r.g.mu.Unlock()
	r.g.rec = nil
}

// refuses returns the error for changing a graph that a capture records into.
func (r *recording) refuses(what string) error {
	return refuse(driver.CUDA_ERROR_ILLEGAL_STATE,
		"%v cannot be %s: a capture of %v that began at %v records into it; end it first", r.g, what, r.s, &r.where)
}

// captured rejects the destruction of a node while a capture records into its graph, because CUDA
// does not support it.
func (n Node) captured() error {
	if n.g.rec == nil {
		return nil
	}
	return fmt.Errorf("node %d cannot be destroyed: %w", n.i, n.g.rec.refuses("changed this way"))
}

// lose marks a graph as destroyed by the driver because the capture into it failed. The driver
// destroys even a graph that the program passed to the capture (seen on driver 580).
func (g *Graph) lose(r *recording) {
	g.lockLatch()
	defer g.mu.Unlock()
	g.shut = true
	g.lost = fmt.Errorf("CUDA destroyed %v when the capture into it that began at %v failed: %w", g, &r.where, driver.ErrClosed)
	g.giveTable()
	if g.life.Disown() {
		g.keep.refs.Release()
		g.keep.refs = nil
	}
}

// broken returns an error unless the capture is active and this thread may query it. If the capture
// was invalidated, the graph must not be used, because the driver may already have destroyed it.
func (r *recording) broken() error {
	if r.s.Raw() == cu.CU_STREAM_PER_THREAD && hostthread.ThreadID() != r.thread {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
			"%v is being captured from %v: until that ends only its goroutine may use it", r.g, r.s)
	}
	i, err := r.info(r.s)
	if err != nil {
		return err
	}
	return i.active(r)
}
