package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/hostthread"
)

// target is where a capture records to, as the options say: a new graph, or one that exists.
type target struct {
	g      *Graph
	chosen bool // WithTarget was given, if only with a nil graph
	deps   []Node
	last   *[]Node                 // see WithLast
	before map[cu.CUgraphNode]bool // the nodes of g
}

// CaptureOption changes how Capture and Begin capture.
type CaptureOption func(*target)

// WithTarget captures into an existing graph, which may be nested in a node of another (CUDA 12.3).
// The recorded work runs after deps, and the capture returns g. WithLast returns the last nodes.
//
// If the capture fails, or leaves a fork that was not joined, the graph is unchanged. An exception
// is a graph with memory nodes: CUDA cannot remove nodes from it, so the recorded work stays and the
// error says so. If the capture is invalidated, CUDA destroys the graph with everything in it. To
// risk nothing, capture a new graph and use AddChild. A capture into a graph in a child graph node
// does so itself, because there CUDA would destroy what the node still refers to.
//
// A capture into the body of a conditional node creates the nodes in the body once it has ended
// well. It supports kernels, copies, fills, empty nodes, child graphs, and conditional nodes by
// Scope.If, IfElse, While and Switch. Nodes taken from its scope become invalid when it ends: use
// those of WithLast.
//
// Until the capture ends the graph cannot be closed or captured into again, and its nodes cannot be
// destroyed.
func WithTarget(g *Graph, deps ...Node) CaptureOption {
	return func(t *target) { t.g, t.chosen, t.deps = g, true, deps }
}

// WithLast stores the last nodes when the capture ends without an error: depend on them to run
// after all recorded work.
func WithLast(nodes *[]Node) CaptureOption {
	return func(t *target) { t.last = nodes }
}

// targetOf applies options. Applying moves the target to the heap, so Capture calls this only if
// there are options.
func targetOf(opts []CaptureOption) target {
	var t target
	absent.Apply(opts, &t)
	return t
}

// ended stores the last nodes of a capture that ended well.
func (t *target) ended(last []Node) {
	if t.last != nil {
		*t.last = last
	}
}

// inNode reports whether the graph is nested in a node.
func (g *Graph) inNode() (bool, error) {
	if err := g.lock(); err != nil {
		return false, err
	}
	defer g.mu.Unlock()
	return g.part, nil
}

// endNodes is end that also returns the nodes to depend on to run after the recorded work.
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

// last returns the edges to the next operation. An invalidated capture has none. The error of its
// end gives the reason.
func (r *recording) last() ([]Edge, error) {
	i, err := r.info(r.s)
	if err != nil || i.status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
		return nil, err
	}
	return r.pending(r.s)
}

// beginInto begins a capture into a graph. It locks the graph for the call.
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

// remember records which nodes the graph has.
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

// captureIntoPart captures into a graph that is nested in a node. If CUDA captured into it and
// failed, it would destroy a graph that the node refers to, and the next use of the node would
// crash the process (seen on driver 580). So what is recorded becomes a child graph in the nested
// graph.
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

// takes checks that the capture can go into the graph, before anything is recorded.
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

// joinAll joins forks that the program did not join, in a capture into an existing graph, and
// returns an error for them. Without the join, the driver would destroy the graph. In an
// invalidated capture the join fails, and the driver destroys the graph anyway.
func (r *recording) joinAll() (err error) {
	if r.into.g == nil {
		return nil
	}
	for _, b := range r.branches[1:] {
		if b.open {
			_ = b.order(r.s) // if it fails, so does the end of the capture
			err = driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
		}
	}
	return err
}

// Graph returns the graph that is being recorded, to inspect it and to add nodes to it. The capture
// returns the same graph when it ends. Added nodes run where their dependencies say. To make later
// recorded work run after them, use SetDependencies.
//
// Until the capture ends the graph cannot be closed, and nodes cannot be destroyed. If the capture
// fails, it is closed.
func (sc *Scope) Graph() (*Graph, error) {
	r, err := sc.lockUsable()
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	return r.graph()
}

// graph returns the Graph that is being recorded. It is made when first needed. From then on,
// operations are recorded under its lock.
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

// release detaches the capture from its graph.
func (r *recording) release() {
	r.g.lockLatch()
	defer r.g.mu.Unlock()
	r.g.rec = nil
}

// refuses returns the error for a change of the graph that the capture records into.
func (r *recording) refuses(what string) error {
	return refuse(driver.CUDA_ERROR_ILLEGAL_STATE,
		"%v cannot be %s: a capture of %v that began at %v records into it; end it first", r.g, what, r.s, &r.where)
}

// captured rejects the destruction of a node while a capture records into its graph. CUDA does
// not support that.
func (n Node) captured() error {
	if n.g.rec == nil {
		return nil
	}
	return fmt.Errorf("node %d cannot be destroyed: %w", n.i, n.g.rec.refuses("changed this way"))
}

// lose ends a graph that the driver destroyed because the capture into it failed. The driver
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

// broken returns an error if the graph must not be used: the driver may already have destroyed
// it, because the capture was invalidated.
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
