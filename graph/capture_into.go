package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// target is a graph that exists before the capture into it.
type target struct {
	g      *Graph
	deps   []Node
	before map[cu.CUgraphNode]bool // its nodes
}

// CaptureInto is Capture into an existing graph, which may be nested in a node of another (CUDA
// 12.3). The recorded work runs after deps. CaptureInto returns the last nodes: depend on them to
// run after all recorded work.
//
// If record fails, or leaves a fork that was not joined, the graph is unchanged. An exception is a
// graph with memory nodes: CUDA cannot remove nodes from it, so the recorded work stays and the
// error says so. If the capture is invalidated, CUDA destroys the graph with everything in it. To
// risk nothing, use Capture and AddChild. CaptureInto does so itself for a graph in a child graph
// node, because there CUDA would destroy what the node still refers to.
//
// A capture into the body of a conditional node creates the nodes in the body once it has ended
// well. It supports kernels, copies, fills, empty nodes, child graphs, and conditional nodes by
// Scope.If, IfElse, While and Switch. Nodes taken from its scope become invalid when it ends: use
// the returned ones.
//
// Until the capture ends the graph cannot be closed or captured into again, and its nodes cannot be
// destroyed.
func CaptureInto(g *Graph, s *driver.Stream, mode Mode, deps []Node, record func(*Scope) error) ([]Node, error) {
	if record == nil {
		return nil, invalid("capture of %v: no function to record", s)
	}
	part, err := g.inNode()
	if err != nil {
		return nil, fmt.Errorf("cannot capture %v: %w", s, err)
	}
	if part {
		return g.captureIntoPart(s, mode, deps, record)
	}
	r, err := beginAt(target{g: g, deps: deps}, s, mode, entry(record))
	if err != nil {
		return nil, err
	}
	defer r.abandon()
	_, last, err := r.endNodes(record(&r.scope))
	return last, err
}

// BeginInto is Begin for a capture into an existing graph: see CaptureInto. End returns that graph,
// EndNodes also the last nodes. For a graph nested in a node, use CaptureInto.
func BeginInto(g *Graph, s *driver.Stream, mode Mode, deps ...Node) (*Recording, error) {
	part, err := g.inNode()
	if err != nil {
		return nil, fmt.Errorf("cannot capture %v: %w", s, err)
	}
	if part {
		return nil, refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "cannot begin to capture %v into %v, which lies in a node: use CaptureInto", s, g)
	}
	r, err := begin(target{g: g, deps: deps}, s, mode)
	if err != nil {
		return nil, err
	}
	return r.watched()
}

// inNode reports whether the graph lies in a node.
func (g *Graph) inNode() (bool, error) {
	if err := g.lock(); err != nil {
		return false, err
	}
	defer g.mu.Unlock()
	return g.part, nil
}

// EndNodes is End that also returns the nodes to depend on to run after the recorded work.
func (r *Recording) EndNodes() (*Graph, []Node, error) {
	if !r.exists() {
		return nil, nil, aCapture.Error(r == nil)
	}
	defer runtime.KeepAlive(r)
	return r.endNodes(nil)
}

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

// last is where the capture stands. If it was invalidated it is nowhere, and the
// error of its end says more than any before.
func (r *recording) last() ([]Edge, error) {
	i, err := r.info(r.s)
	if err != nil || i.status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
		return nil, err
	}
	return r.pending(r.s)
}

// beginInto begins to capture into a graph, for which that is locked.
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

// remember notes which nodes the graph has.
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

// undo destroys the nodes that a capture into a graph added, by its end or by
// hand.
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
