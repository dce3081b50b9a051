package graph

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/captures"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/life"
)

// Scope records operations on one stream of an open capture. Several goroutines may use a Scope,
// but not after its capture has ended. Operations that allocate or free are not a driver.Op, so Do
// does not accept them: see [Allocate] and [Scope.Free].
type Scope struct {
	r     *recording
	s     *driver.Stream
	b     *branch
	whole *Recording // keeps the Recording reachable, because its cleanup ends the capture
}

// ScopeOf returns a Scope that records on s. It returns false if s is not part of a capture of this
// package. Use it in code that receives only a stream, for example to call [Scope.Keep] or
// [Allocate]. The Scope does not keep the Recording reachable.
func ScopeOf(s *driver.Stream) (*Scope, bool) {
	if s.Ready() != nil {
		return nil, false
	}
	r, ok := captures.All.Of(s).(*recording)
	if !ok {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.branches {
		if captures.KeyOf(b.s) == captures.KeyOf(s) {
			return &Scope{r: r, s: s, b: b}, true
		}
	}
	return nil, false
}

// Stream returns the captured stream. Work enqueued in it without the Scope is also recorded, but
// the graph does not know the objects it refers to: see Keep.
func (sc *Scope) Stream() *driver.Stream {
	if !sc.exists() {
		return nil
	}
	return sc.s
}

// Mode returns the capture's mode.
func (sc *Scope) Mode() Mode {
	if !sc.exists() {
		return 0
	}
	return sc.r.mode
}

// Do records operations in order. The graph keeps alive the objects they refer to. Do batches
// consecutive kernel launches. Each batch is one native call and costs little more than the same
// calls in C. If one of several operations fails, the error names it, and later operations are not
// recorded.
func (sc *Scope) Do(ops ...driver.Op) error {
	if len(ops) == 1 {
		return sc.doOne(ops[0])
	}
	b, err := sc.newBurst()
	if err != nil {
		return err
	}
	defer b.end()
	if err := b.Do(ops...); err != nil {
		return err
	}
	b.flush()
	return b.err
}

func (sc *Scope) doOne(op driver.Op) error {
	if l, ok := op.(*launchOp); ok && sc.exists() {
		return l.recordIn(sc) // locks the capture itself
	}
	r, err := sc.lock()
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	if op == nil {
		return invalid("nil operation for the capture of %v", sc.s)
	}
	if l, ok := op.(*driver.Launch); ok && r.accesses.IsLatest(l) {
		return sc.repeat(l)
	}
	if r.g != nil {
		return sc.doInto(op)
	}
	return sc.do(r.refs, op)
}

// repeat records a launch whose accesses and references equal those of the previous launch, and are
// therefore already recorded and retained. Most launches of a long capture repeat the previous one.
func (sc *Scope) repeat(l *driver.Launch) error {
	r := sc.r
	if r.g != nil {
		r.g.lockLatch()
		defer r.g.mu.Unlock()
	}
	if err := sc.s.Do(l); err != nil {
		return r.note(l, err)
	}
	r.accesses.Repeat()
	sc.b.open = true
	return nil
}

// doInto records an operation while the program may be adding nodes to the graph.
func (sc *Scope) doInto(op driver.Op) error {
	g := sc.r.g
	g.lockLatch()
	defer g.mu.Unlock()
	o := g.changeRefs()
	defer o.Flush()
	return sc.do(o, op)
}

func (sc *Scope) do(o *retain.References, op driver.Op) error {
	if err := o.Retain(op.Uses().Refs); err != nil {
		return fmt.Errorf("%v: %w", op, err)
	}
	if err := sc.s.Do(op); err != nil {
		o.Abandon()
		return sc.r.note(op, err)
	}
	o.CommitLoose()
	sc.r.accesses.Note(op)
	sc.b.open = true
	return nil
}

// Keep makes the graph keep objects alive that are used by work recorded without the Scope. See
// [Graph.Keep].
func (sc *Scope) Keep(things ...any) error {
	r, err := sc.lock()
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	refs, values, err := kept(things)
	if err != nil {
		return err
	}
	return r.changing(func(o *retain.References) error { return o.RetainThings(refs, values) })
}

func (r *recording) keep(refs []life.Ref) error {
	return r.changing(func(o *retain.References) error {
		if err := o.Retain(refs); err != nil {
			return err
		}
		o.CommitLoose()
		return nil
	})
}

// changing calls change with the writable references of the graph that is being recorded. The
// caller must hold the capture's lock.
func (r *recording) changing(change func(o *retain.References) error) error {
	o := r.takeRefs()
	defer r.giveRefs()
	return change(o)
}

// takeRefs returns the writable references of the graph that is being recorded. If there is a Graph
// object, takeRefs locks it until giveRefs.
func (r *recording) takeRefs() *retain.References {
	if r.g == nil {
		return r.refs
	}
	r.g.lockLatch()
	return r.g.changeRefs()
}

func (r *recording) giveRefs() {
	if r.g != nil {
		r.g.keep.refs.Flush()
		r.g.mu.Unlock()
	}
}

// Status returns the state of the capture and its number, which is unique within the process.
func (sc *Scope) Status() (status cu.CUstreamCaptureStatus, id uint64, err error) {
	if !sc.exists() {
		return 0, 0, aScope.Error(sc == nil)
	}
	status, id, _, err = sc.s.CaptureStatus()
	return status, id, err
}

// note stores the first operation that failed, because it is the likely reason if the capture
// becomes invalid. If the capture was already invalid, note adds the reason to the error.
func (r *recording) note(op fmt.Stringer, err error) error {
	if resultOf(err) == driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED {
		return fmt.Errorf("capture of %v was %s: %w", r.s, r.invalidatedBy(), err)
	}
	if r.first.Load() == nil {
		what := fmt.Sprintf("%v failed: %v", op, err)
		r.first.Store(&what)
	}
	return err
}

func (sc *Scope) exists() bool { return sc != nil && sc.r != nil }

// lock locks the scope's capture for a call. It returns an error if the scope has no capture or the
// capture has ended.
func (sc *Scope) lock() (*recording, error) {
	if !sc.exists() {
		return nil, aScope.Error(sc == nil)
	}
	r := sc.r
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return nil, sc.endedError()
	}
	return r, nil
}

// lockUsable is like lock, but also returns an error if the scope's stream cannot be used.
func (sc *Scope) lockUsable() (*recording, error) {
	r, err := sc.lock()
	if err != nil {
		return nil, err
	}
	if err := sc.s.Ready(); err != nil {
		r.mu.Unlock()
		return nil, fmt.Errorf("capture: %w", err)
	}
	return r, nil
}

func (sc *Scope) endedError() error {
	return fmt.Errorf("capture of %v: %w", sc.s, ErrEnded)
}

// Mode determines which calls of the program are forbidden while a capture is open. CUDA forbids
// calls that cannot be recorded and would take effect immediately, such as freeing memory. A
// forbidden call fails and invalidates the capture.
type Mode = cu.CUstreamCaptureMode

// The modes have the values of CUDA.
const (
	// ModeGlobal forbids unsafe calls on every thread of the process, except calls that this
	// library makes internally.
	ModeGlobal Mode = cu.CU_STREAM_CAPTURE_MODE_GLOBAL
	// ModeThreadLocal forbids unsafe calls on the capturing thread.
	ModeThreadLocal Mode = cu.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
	// ModeRelaxed forbids nothing.
	ModeRelaxed Mode = cu.CU_STREAM_CAPTURE_MODE_RELAXED
)

// Add records an operation like Do, and returns the recorded node for [Bind], [Node.SetName] and
// [Exec.Set]. It is a node of the graph that the capture returns, or of the body that is being
// recorded. Operations on events return CUDA_ERROR_NOT_SUPPORTED, because they do not record a
// node.
func (sc *Scope) Add(op driver.Op) (Node, error) {
	if !sc.exists() {
		return Node{}, aScope.Error(sc == nil)
	}
	n, err := sc.add(op)
	runtime.KeepAlive(op)
	if err != nil {
		return Node{}, fmt.Errorf("cannot record a node in the capture of %v: %w", sc.s, err)
	}
	return n, nil
}

func (sc *Scope) add(op driver.Op) (Node, error) {
	if err := refusal.Operation(sc.s.Context(), op); err != nil {
		return Node{}, err
	}
	switch {
	case aboutEvent(op):
		return Node{}, refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "%v orders streams of the capture and makes no node, use Scope.Do", op)
	case noBytes(op):
		return sc.addEmpty()
	}
	r, err := sc.lockUsable()
	if err != nil {
		return Node{}, err
	}
	defer r.mu.Unlock()
	g, err := r.graph()
	if err != nil {
		return Node{}, err
	}
	g.lockLatch()
	defer g.mu.Unlock()
	o := g.changeRefs()
	defer o.Flush()
	if err := o.Retain(op.Uses().Refs); err != nil {
		return Node{}, fmt.Errorf("%v: %w", op, err)
	}
	if err := sc.s.Do(op); err != nil {
		o.Abandon()
		return Node{}, r.note(op, err)
	}
	sc.b.open = true
	n, err := r.latest(sc.s)
	if err != nil {
		o.CommitLoose()
		return Node{}, r.doom(err)
	}
	o.Commit(n.i)
	g.accesses.Set(n.i, op)
	return n, nil
}

// latest returns the node that was last recorded on a stream. The caller must hold the graph's
// lock.
func (r *recording) latest(s *driver.Stream) (Node, error) {
	i, err := r.info(s)
	if err != nil {
		return Node{}, err
	}
	if err := i.active(r); err != nil {
		return Node{}, err
	}
	if i.n != 1 {
		return Node{}, refuse(driver.CUDA_ERROR_UNKNOWN, "%d nodes are the latest, where one was recorded", i.n)
	}
	return r.g.node(*i.nodes), nil
}

func (sc *Scope) addEmpty() (Node, error) {
	return sc.addPending(func(g *Graph, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) (Node, error) {
		var raw cu.CUgraphNode
		var err error
		if data == nil {
			err = g.d.CuGraphAddEmptyNode(&raw, g.raw, from, n)
		} else {
			err = g.addGeneric(&raw, from, data, n, &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_EMPTY})
		}
		if err != nil {
			return Node{}, err
		}
		g.commitNew(g.changeRefs())
		return g.added(raw), nil
	})
}

// aboutEvent reports whether op records an event or waits for an event. A capture turns such
// operations into dependencies between its streams instead of nodes.
func aboutEvent(op driver.Op) bool {
	switch op.(type) {
	case *driver.EventOp:
		return true
	}
	return false
}

// Allocate records an allocation in the scope's capture. The memory follows the rules of
// [AddAlloc]. Allocate is separate from [Scope.Do] so that code which receives only a function for
// operations cannot record allocations by accident. An allocation of zero elements records nothing.
func Allocate[T any](sc *Scope, op *driver.AllocOp[T]) (*driver.Buffer[T], error) {
	r, err := sc.lock()
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	if op == nil {
		return nil, invalid("nil allocation for the capture of %v", sc.s)
	}
	b, err := op.AllocIn(sc.s)
	if err != nil {
		return nil, err
	}
	if err := r.changing(func(o *retain.References) error { return o.RetainMemory(b) }); err != nil {
		return nil, join([]error{err, b.Close()})
	}
	return b, nil
}

// Free records a node that frees the memory of an allocation node in this graph or in another. The
// buffer stays open, but later work must not use the memory.
func (sc *Scope) Free(op *driver.FreeOp) error {
	r, err := sc.lock()
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	if op == nil {
		return invalid("nil operation for the capture of %v", sc.s)
	}
	m, ok := freedBy(op)
	if !ok {
		return invalid("%v: it is not memory of an allocation node; a graph cannot free it", op)
	}
	return r.free(sc.s, m, op, op.Uses().Refs)
}

// free records a free node. The caller must hold the capture's lock.
func (r *recording) free(s *driver.Stream, m life.GraphMemory, op fmt.Stringer, refs []life.Ref) error {
	if m.Ptr() == 0 { // no elements
		return nil
	}
	return r.changing(func(o *retain.References) error {
		if o.Mem != nil && slices.Contains(o.Mem.Frees, m) {
			return invalid("%v: the capture already frees it", op)
		}
		if err := o.Retain(refs); err != nil {
			return fmt.Errorf("%v: %w", op, err)
		}
		if err := m.FreeIn(&s.Context().Guarded().Driver, s.Raw()); err != nil {
			o.Abandon()
			return fmt.Errorf("%v: %w", op, err)
		}
		o.CommitLoose()
		o.Memory().Frees = append(o.Memory().Frees, m)
		return nil
	})
}
