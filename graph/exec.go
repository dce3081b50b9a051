package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/graph/internal/turn"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// Exec is an executable graph. Set, Enable and Update change it between launches, without
// affecting launches in flight.
//
// Launches of one Exec never overlap, even on different streams. The same applies to Execs whose
// graphs use memory of the same graph/arena. To run a graph concurrently, instantiate it several
// times.
type Exec struct {
	life  *life.Lifetime
	watch life.Watched
	ctx   *driver.Context
	d     *driver.Driver // bound to the context
	keep  *execKeep

	g        *Graph // Set accepts nodes of this graph
	foreign  bool   // keep.refs belong to another graph, because of an update
	opts     options
	uploaded bool   // uploaded, and not changed since the upload
	changed  bool   // the Exec differs from the graph that it was instantiated from
	updates  uint64 // number of updates that replaced all parameters
	seen     uint32 // number of kernel faults that a Wait without a stream need not report; atomic
	bindings *Bindings
}

// execKeep contains everything that launching and destroying an Exec need. The fields that a launch
// reads are adjacent, because each launch evicts them from the processor's caches.
type execKeep struct {
	mu    loader.Latch // locked during every driver call on raw
	shut  bool         // Close was called
	raw   cu.CUgraphExec
	ctx   *driver.Context
	refs  *retain.References
	count *execCount // nil unless the graph may have only one Exec
	inflight.Launches
	life life.Lifetime
	ends ending

	turns turns     // memory-sharing work that the next launch must do; usually 0
	tie   *turn.Tie // orders the launches among graphs that use the same memory; usually nil

	borrowed bool // the owner of raw destroys it, not this Exec
}

// Close destroys the executable graph. A launch in flight still completes, and the objects it uses
// are retained until then.
func (x *Exec) Close() error {
	if !x.exists() {
		return nil
	}
	x.keep.mu.Lock() // waits for a call in progress
	defer x.keep.mu.Unlock()
	x.keep.shut = true
	return x.watch.Close(x.life)
}

// Destroy implements life.Destroyer. It runs for an Exec that was closed or that became
// unreachable.
func (k *execKeep) Destroy(d *cu.Driver) error {
	var err error
	if !k.borrowed {
		err = k.ends.do(d, cu.FnCuGraphExecDestroy, uintptr(k.raw))
	}
	k.count.remove()
	k.tie.Leave()
	if k.Ended == k.Replays { // true also if the Exec was never launched
		k.refs.Release()
	} else {
		k.ReleaseLater(retain.Reference{Of: k.refs})
	}
	return join([]error{err, k.Close()})
}

// Raw returns the driver's handle, or 0 for nil. Update can replace it.
func (x *Exec) Raw() cu.CUgraphExec {
	if !x.exists() {
		return 0
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	return x.keep.raw
}

// Graph returns the graph that the Exec was instantiated from.
func (x *Exec) Graph() *Graph {
	if !x.exists() {
		return nil
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	return x.g
}

// Context returns the context that the graph was created for.
func (x *Exec) Context() *driver.Context {
	if !x.exists() {
		return nil
	}
	return x.ctx
}

// Lifetime returns the Exec's ownership record.
func (x *Exec) Lifetime() *life.Lifetime {
	if !x.exists() {
		return nil
	}
	return x.life
}

// String describes the executable graph.
func (x *Exec) String() string {
	if !x.exists() {
		return absentName(x == nil, &anExec)
	}
	return x.life.String()
}

// Launch enqueues the graph in s. It runs after all work already in s and after this Exec's
// previous launch. Launch does not wait. If the graph fails when it runs, a later call, usually a
// wait, returns the error.
//
// s may be any stream of the same driver, even of another context. To make x part of a graph that
// is being captured, use [Graph.AddChild].
func (x *Exec) Launch(s *driver.Stream) error {
	if !x.exists() {
		return anExec.Error(x == nil)
	}
	k := x.keep
	k.mu.Lock()
	err := k.launch(s)
	k.mu.Unlock()
	runtime.KeepAlive(x)
	runtime.KeepAlive(s)
	if err != nil {
		return x.launchError(s, err)
	}
	return nil
}

func (k *execKeep) launch(s *driver.Stream) error {
	if err := k.ready(s); err != nil {
		return err
	}
	if k.turns != 0 {
		if turn, err := k.takesTurns(); err != nil || turn {
			return k.launchInTurn(s, nil, err)
		}
	}
	if !k.Follows(s) {
		return k.launchElsewhere(s)
	}
	if err := s.Driver().CuGraphLaunch(k.raw, s.Raw()); err != nil {
		return err
	}
	k.Launched()
	return nil
}

// launchElsewhere launches on a stream that must be retained first, because the previous launch was
// on another stream.
func (k *execKeep) launchElsewhere(s *driver.Stream) error {
	if err := k.Move(s, func() error { return s.Driver().CuGraphLaunch(k.raw, s.Raw()) }); err != nil {
		return err
	}
	k.Launched()
	return nil
}

// ready returns an error if the Exec cannot be launched on s. Otherwise ready orders the launch
// after the staged operations, if any.
func (k *execKeep) ready(s *driver.Stream) error {
	if k.shut || s.Lifetime().Closed() || s.Context() != k.ctx {
		if err := k.accepts(s); err != nil {
			return err
		}
	}
	if k.Staged.Stream != nil {
		return k.afterStaged(s)
	}
	return nil
}

// accepts returns the reason why the Exec cannot be launched in s, or nil.
func (k *execKeep) accepts(s *driver.Stream) error {
	if k.shut {
		return fmt.Errorf("the executable graph: %w", driver.ErrClosed)
	}
	if err := s.Ready(); err != nil {
		return err
	}
	return sameDriver(k.ctx, s, s.Context())
}

func (x *Exec) launchError(s *driver.Stream, err error) error {
	return fmt.Errorf("cannot launch %v on %v: %w", x, s, x.memoryError(err))
}

// Run launches the graph on s and waits for all work enqueued in s so far. If ctx ends first, Run
// returns its cause, and the launch continues. On the per-thread stream, the goroutine stays on its
// thread until Run returns.
func (x *Exec) Run(ctx context.Context, s *driver.Stream) error {
	if !x.exists() {
		return anExec.Error(x == nil)
	}
	if s.Raw() == cu.CU_STREAM_PER_THREAD {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	x.keep.mu.Lock()
	err, n := x.keep.launch(s), x.keep.Replays // launch and read Replays under one lock, because other goroutines may launch
	x.keep.mu.Unlock()
	if err != nil {
		return x.launchError(s, err)
	}
	err = s.Wait(ctx)
	if err == nil || refusal.IsKernelFault(err) {
		x.noteEnded(n)
	}
	return err
}

// NoteEnded records that the first n launches of the Exec, counted as in [Exec.Replays], have
// ended. Call it after waiting for launches with your own events, so that the Exec releases their
// objects immediately instead of a few launches later. None of those launches may still be running.
// Run and Wait call NoteEnded themselves.
func (x *Exec) NoteEnded(n uint64) {
	if x.exists() {
		x.noteEnded(n)
	}
}

// noteEnded records that the first n launches have ended. It does nothing for a closed Exec, which
// tracks its last launches itself.
func (x *Exec) noteEnded(n uint64) {
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	if !x.keep.shut {
		x.keep.NoteEnded(n)
	}
	runtime.KeepAlive(x) // the cleanup that a collection runs takes no lock
}

// Wait waits for the last launch and for later work in its stream. If ctx ends first, Wait returns
// its cause, and the launch continues. Before the first launch, it waits for the upload of
// WithUpload, if any. If the launch's stream was closed or is the per-thread stream, Wait waits
// only for the launch.
func (x *Exec) Wait(ctx context.Context) error {
	if !x.exists() {
		return anExec.Error(x == nil)
	}
	x.keep.mu.Lock()
	err, s, n, up := x.life.Check(), x.keep.Stream, x.keep.Replays, x.opts.upload
	x.keep.mu.Unlock()
	switch {
	case err != nil:
		return err
	case s == nil:
		if up != nil {
			return up.Wait(ctx)
		}
		return nil
	case s.Raw() == cu.CU_STREAM_PER_THREAD:
		return x.waitForLaunches(ctx)
	}
	err = s.Wait(ctx)
	if s.Lifetime().Closed() && errors.Is(err, driver.ErrClosed) {
		return x.waitForLaunches(ctx)
	}
	if err == nil || refusal.IsKernelFault(err) {
		x.noteEnded(n)
	}
	return err
}

// waitForLaunches waits for the launches, but not for later work in their streams.
func (x *Exec) waitForLaunches(ctx context.Context) error {
	for start := time.Now(); ; {
		if over, err := x.allEnded(); over || err != nil {
			return err
		}
		if ctx != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		time.Sleep(inflight.Nap(start))
	}
}

func (x *Exec) allEnded() (bool, error) {
	if err := x.lock(); err != nil {
		return false, err
	}
	defer x.keep.mu.Unlock()
	n := atomic.LoadUint32(&x.seen)
	over, err := x.keep.AllEnded()
	if over && err == nil {
		err = x.life.Faults().After(n, &x.seen)
	}
	runtime.KeepAlive(x)
	return over, err
}

// Upload uploads the graph to the device without running it, so that the first launch need not
// upload it. Upload is ordered like a launch. It does nothing if the graph has not changed since
// the last upload.
func (x *Exec) Upload(s *driver.Stream) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	err := s.Ready()
	if err == nil && s.Context() != x.ctx {
		err = sameDriver(x.ctx, s, s.Context())
	}
	if err == nil && !x.uploaded {
		err = x.ctx.Guarded().CuGraphUpload(x.keep.raw, s.Raw())
	}
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("cannot upload %v on %v: %w", x, s, err)
	}
	x.uploaded = true
	return nil
}

// Uploaded reports whether Upload, or Instantiate with WithUpload, has succeeded since the Exec was
// last changed.
func (x *Exec) Uploaded() bool {
	if !x.exists() {
		return false
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	return x.uploaded
}

// Replays returns the number of launches that succeeded.
func (x *Exec) Replays() uint64 {
	if !x.exists() {
		return 0
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	return x.keep.Replays
}

// Flags returns the instantiation flags that the driver reports. Driver 580 reports those for auto
// free and device launch.
func (x *Exec) Flags() (cu.CUgraphInstantiate_flags, error) {
	if err := x.lock(); err != nil {
		return 0, err
	}
	defer x.keep.mu.Unlock()
	var f uint64
	err := x.d.CuGraphExecGetFlags(x.keep.raw, &f)
	return cu.CUgraphInstantiate_flags(f), err
}

func (x *Exec) exists() bool { return x != nil && x.keep != nil }

// lock locks the Exec for a call. It returns an error if the Exec is nil, zero or closed.
func (x *Exec) lock() error {
	if !x.exists() {
		return anExec.Error(x == nil)
	}
	x.keep.mu.Lock()
	if !x.keep.shut {
		return nil
	}
	x.keep.mu.Unlock()
	return x.life.Check()
}

// changeRefs makes the Exec's references writable and returns them. After an update, the references
// may belong to another graph. changeRefs then detaches them from node numbers, because the numbers
// refer to nodes of that other graph.
func (x *Exec) changeRefs() *retain.References {
	k := x.keep
	if k.refs.Alone() && !x.foreign {
		return k.refs
	}
	return x.copyRefs()
}

func (x *Exec) copyRefs() *retain.References {
	k := x.keep
	k.refs = k.refs.Writable()
	if x.foreign {
		k.refs.Loosen()
		x.foreign = false
	}
	return k.refs
}

// Borrow returns a Graph for a handle that other code owns, for example a graph that another
// library captured. Closing it does not destroy the driver's graph. Until the Graph is closed, the
// owner must neither destroy the driver's graph nor change it in other ways. The owner must also
// keep alive everything its nodes refer to, see [Graph.Keep].
func Borrow(c *driver.Context, raw driver.CUgraph) (*Graph, error) {
	k, err := newKeep(c, "borrowed graph")
	if err != nil {
		return nil, err
	}
	if raw == 0 {
		return nil, k.abandon(invalid("the handle is 0"))
	}
	k.borrowed = true
	return own(c, k, raw), nil
}

// BorrowExec returns an Exec for a handle that other code owns and instantiated from g. Exec.Set
// accepts the nodes of g. If the original graph is not available, pass an empty one. The Exec can
// then only be launched, waited for, uploaded and updated as a whole. Closing it does not destroy
// the driver's executable graph. The owner must keep the executable graph until the Exec is closed
// and its launches have ended. Until then the owner must not launch or change it, because CUDA does
// not allow concurrent use. Update with WithReinstantiate fails if it would have to instantiate
// anew.
func (g *Graph) BorrowExec(raw cu.CUgraphExec) (*Exec, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	if err := g.onlyWhole(driver.CUDA_ERROR_NOT_SUPPORTED, "the graph of an executable graph"); err != nil {
		return nil, err
	}
	k := &execKeep{raw: raw, ctx: g.ctx, borrowed: true}
	k.life.SetKind("borrowed executable graph")
	if err := k.life.BeginIn(g.ctx.Lifetime()); err != nil {
		return nil, err
	}
	if raw == 0 {
		return nil, k.life.Abandon(invalid("the handle is 0"))
	}
	k.refs = g.keep.refs.Share()
	k.turns |= memoryChanged
	x := &Exec{life: &k.life, ctx: g.ctx, d: g.d, keep: k, g: g, seen: k.life.Faults().Taken()}
	x.watch.Own(&k.life, uint64(raw), k)
	return x, nil
}

// Enable enables or disables a node of an Exec from the next launch on. A disabled node does
// nothing, but its dependencies still hold. Only kernel, copy and fill nodes can be disabled (CUDA
// 11.6).
func (x *Exec) Enable(n Node, on bool) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	if err := x.has(n); err != nil {
		return fmt.Errorf("cannot switch a node of %v: %w", x, err)
	}
	defer n.g.mu.Unlock()
	flag := uint32(0)
	if on {
		flag = 1
	}
	x.uploaded, x.changed = false, true
	if err := x.d.CuGraphNodeSetEnabled(x.keep.raw, n.handle(), flag); err != nil {
		return fmt.Errorf("cannot switch node %d of %v: %w", n.i, x, err)
	}
	return nil
}

// Enabled reports whether a node of an Exec is enabled.
func (x *Exec) Enabled(n Node) (bool, error) {
	if err := x.lock(); err != nil {
		return false, err
	}
	defer x.keep.mu.Unlock()
	if err := x.has(n); err != nil {
		return false, fmt.Errorf("a node of %v: %w", x, err)
	}
	defer n.g.mu.Unlock()
	var flag uint32
	if err := x.d.CuGraphNodeGetEnabled(x.keep.raw, n.handle(), &flag); err != nil {
		return false, fmt.Errorf("node %d of %v: %w", n.i, x, err)
	}
	return flag != 0, nil
}

// Stage enqueues operations in s that prepare the next launch, such as copies of its inputs, and
// does not wait. The operations run after the previous launch, so they do not change inputs in use.
// The next launch runs after the operations. Both hold for launches on any stream.
//
// Within one stream, this order costs nothing. Different streams are ordered by an event. If an
// operation fails, the error names it. The next launch still runs after the operations before it.
func (x *Exec) Stage(s *driver.Stream, ops ...driver.Op) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	err := x.keep.stage(s, ops)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("cannot stage for %v: %w", x, err)
	}
	return nil
}

func (k *execKeep) stage(s *driver.Stream, ops []driver.Op) error {
	if err := s.Ready(); err != nil {
		return err
	}
	if err := sameDriver(k.ctx, s, s.Context()); err != nil {
		return err
	}
	if err := k.afterStaged(s); err != nil {
		return err
	}
	if k.Ended < k.Replays && !isOrdered(k.Stream, s) {
		if err := k.Precede(s); err != nil {
			return err
		}
	}
	if len(ops) == 0 {
		return nil
	}
	var failed error
	enqueue := func() error {
		for i, op := range ops {
			if l, ok := op.(*launchOp); ok && l.x != nil && l.x.keep == k {
				failed = invalid("operation %d launches the executable graph that it is staged for", i)
				return failed
			}
			if failed = k.doInTurn(s, op); failed != nil {
				failed = fmt.Errorf("operation %d: %w", i, failed)
				if i == 0 {
					return failed
				}
				break // the earlier operations remain staged
			}
		}
		return nil
	}
	send := func() error { return k.stageInTurn(s, enqueue, &failed) }
	if !k.Staged.Follows(s) {
		return cmp.Or(k.Staged.Move(s, send), failed)
	}
	k.Staged.Recorded = false
	return cmp.Or(send(), failed)
}

// afterStaged makes s wait for work that was staged on another stream. The work stays marked as
// staged until the next launch or stage succeeds.
func (k *execKeep) afterStaged(s *driver.Stream) error {
	if k.Staged.Stream == nil || isOrdered(k.Staged.Stream, s) {
		return nil
	}
	return k.Staged.Precede(s)
}

// isOrdered reports whether work in the stream before precedes later work in the stream after
// because of stream order alone. It is false for the per-thread stream, which is a different stream
// on each thread.
func isOrdered(before, after *driver.Stream) bool {
	return before == after && after.Raw() != cu.CU_STREAM_PER_THREAD
}
