package graph

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/graph/internal/captures"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
)

// Capture records what record enqueues in the stream s, through its Scope or in any other way, and
// returns it as a graph. The recorded work does not run.
//
// The capture always ends when record ends. If record returns an error, panics or ends its
// goroutine, the recorded work is destroyed and s can be used again. Capture's error begins with the
// error of record. A panic continues after the cleanup. Except in ModeRelaxed, a capture locks the
// goroutine to its OS thread.
//
// If record records nothing, the graph has no nodes, which is not an error. Synchronous calls
// (Buffer.CopyTo, CopyFrom and Fill) and work in streams outside the capture are not recorded.
//
// WithTarget captures into an existing graph. To also return a value from record, see package
// graph/callable.
func Capture(s *driver.Stream, mode Mode, record func(*Scope) error, opts ...CaptureOption) (*Graph, error) {
	if record == nil {
		return nil, invalid("capture of %v: no function to record", s)
	}
	var into target
	if len(opts) > 0 {
		into = targetOf(opts)
	}
	if into.chosen {
		part, err := into.g.inNode()
		if err != nil {
			return nil, fmt.Errorf("cannot capture %v: %w", s, err)
		}
		if part {
			return into.captureIntoPart(s, mode, record)
		}
	}
	r, err := beginAt(into, s, mode, captures.EntryOf(record))
	if err != nil {
		return nil, err
	}
	defer r.abandon() // record panicked or called runtime.Goexit
	return r.end(record(&r.scope))
}

// Recording is an open capture. Use it if you cannot put the recorded code in one function, as
// Capture requires. End it on every path. If a Recording becomes unreachable, a garbage collection
// ends it, destroys the recorded work and reports a leak. A goroutine that was locked to a thread
// stays locked.
type Recording struct {
	*recording
	scope Scope
}

// recording is the part of a capture that must survive when the caller drops its Recording. It does
// not refer to the Recording, so the Recording can become unreachable.
type recording struct {
	s       *driver.Stream
	mode    Mode
	made    *keep          // owner of the graph that the capture will return; nil if the capture has a target
	drop    *life.Lifetime // lifetime of the Recording; nil if the program cannot drop it
	open    bool           // the capture may end in a different function than it began in
	locked  bool           // the goroutine is locked to its thread
	thread  uint64         // ID of the locked thread, or 0 if the end need not compare it
	faults  uint64         // cu.CaptureFaults when the capture began
	unwatch func()         // stops the recording of failed calls
	where   captures.Place
	into    target
	home    *Graph // for a body: the outermost graph that will contain it

	mu       sync.Mutex
	ended    bool
	refs     *retain.References     // references of the graph that the capture will return; used only while g is nil
	g        *Graph                 // the target, or the Graph that Scope.Graph created; otherwise nil
	doomed   error                  // reason to fail the capture although the driver reports no error
	planned  []planned              // for a body: conditional nodes that are still to be added
	branches []*branch              // the captured streams; the first is &origin
	origin   branch                 // the stream on which the capture began
	room     [1]*branch             // storage of branches until there is a fork
	first    atomic.Pointer[string] // first failed operation of a scope
	accesses access.Recorded
}

type branch struct {
	s     *driver.Stream
	event *driver.Event // event for forks and joins; created on first use
	open  bool          // used since the branch was last joined
}

// Begin starts capturing s. The same goroutine must call End or Abort, unless the mode is
// ModeRelaxed. To capture into a graph nested in a node, use Capture.
func Begin(s *driver.Stream, mode Mode, opts ...CaptureOption) (*Recording, error) {
	var into target
	if len(opts) > 0 {
		into = targetOf(opts)
	}
	if into.chosen {
		part, err := into.g.inNode()
		if err != nil {
			return nil, fmt.Errorf("cannot capture %v: %w", s, err)
		}
		if part {
			return nil, refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "cannot begin to capture %v into %v, which is in a node: use Capture", s, into.g)
		}
	}
	r, err := begin(into, s, mode)
	if err != nil {
		return nil, err
	}
	return r.watched()
}

// begin starts a capture that the program may end on another goroutine, or drop.
func begin(into target, s *driver.Stream, mode Mode) (*Recording, error) {
	r := &Recording{recording: &recording{open: true}}
	r.where.Mark()
	return r.begin(into, s, mode)
}

// beginAt starts a capture that the calling function ends. Messages name pc, the entry of the
// function that the program passed in, as the origin of the capture.
func beginAt(into target, s *driver.Stream, mode Mode, pc uintptr) (*Recording, error) {
	r := &struct {
		Recording
		rest recording
	}{}
	r.Recording.recording = &r.rest
	r.where.Entry = pc
	return r.Recording.begin(into, s, mode)
}

func (r *Recording) begin(into target, s *driver.Stream, mode Mode) (*Recording, error) {
	if err := refusal.Uncapturable(s); err != nil {
		return nil, err
	}
	r.s, r.mode, r.into, r.origin.s = s, mode, into, s
	r.room[0] = &r.origin
	r.branches = r.room[:]
	r.scope = Scope{r: r.recording, s: s, b: &r.origin, whole: r}
	if err := r.recording.begin(); err != nil {
		return nil, fmt.Errorf("cannot capture %v: %w", s, err)
	}
	return r, nil
}

func (r *recording) begin() error {
	if err := captures.All.Enter(r.s, r, &r.where); err != nil {
		return err
	}
	if err := r.begun(); err != nil {
		captures.All.Leave(r.s, r)
		return err
	}
	return nil
}

// begun begins the capture and retains everything that the capture needs until it ends. On error,
// it retains nothing.
func (r *recording) begun() (err error) {
	if err := r.s.Lifetime().Retain(); err != nil {
		return err
	}
	if r.into.g == nil {
		if r.made, err = newKeep(r.s.Context(), "graph"); err != nil {
			r.s.Lifetime().Done()
			return err
		}
		r.refs = r.made.refs
	}
	r.faults = cu.CaptureFaults()
	r.lockThread()
	r.unwatch = cu.WatchCapture()
	if err := r.beginDriver(); err != nil {
		r.unwatch()
		r.unlockThread()
		r.giveUp(err)
		r.s.Lifetime().Done()
		return err
	}
	return nil
}

func (r *recording) giveUp(err error) {
	if r.made != nil {
		_ = r.made.abandon(err)
	}
}

func (r *recording) beginDriver() error {
	if r.into.g != nil {
		return r.beginInto()
	}
	err := r.s.Context().Driver().CuStreamBeginCapture(r.s.Raw(), r.mode)
	if resultOf(err) == driver.CUDA_ERROR_ILLEGAL_STATE {
		return fmt.Errorf("it is already being captured: %w", err)
	}
	return err
}

// lockThread locks the goroutine to its thread if the capture must end on the thread where it began.
// This holds unless the capture is relaxed. It always holds for the per-thread stream, which differs
// from thread to thread.
func (r *recording) lockThread() {
	if r.mode != ModeRelaxed || r.s.Raw() == cu.CU_STREAM_PER_THREAD {
		r.locked = true
		runtime.LockOSThread()
		if r.open || r.s.Raw() == cu.CU_STREAM_PER_THREAD { // the thread ID is slow to query
			r.thread = hostthread.ThreadID()
		}
	}
}

func (r *recording) unlockThread() {
	if r.locked {
		runtime.UnlockOSThread()
	}
}

// Scope returns the scope in which to record work.
func (r *Recording) Scope() *Scope {
	if !r.exists() {
		return nil
	}
	return &r.scope
}

func (r *Recording) exists() bool { return r != nil && r.recording != nil }

func (r *recording) closeEvents() (errs []error) {
	for _, b := range r.branches {
		if err := b.event.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// End ends the capture and returns the graph, or nil and an error.
func (r *Recording) End() (*Graph, error) {
	if !r.exists() {
		return nil, aCapture.Error(r == nil)
	}
	defer runtime.KeepAlive(r)
	return r.end(nil)
}

// Abort ends the capture and destroys the recorded work. After End, and for nil, it does nothing,
// so it may be deferred.
func (r *Recording) Abort() error {
	if !r.exists() {
		return nil
	}
	defer runtime.KeepAlive(r)
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended {
		return nil
	}
	_, err := r.end(errAborted)
	switch errs, several := err.(interface{ Unwrap() []error }); {
	case err == errAborted:
		return nil
	case several: // errAborted is the first error
		return join(errs.Unwrap()[1:])
	}
	return err
}

var errAborted = errors.New("aborted")

// abandon ends the capture if it is still open.
func (r *Recording) abandon() {
	// After a panic or Goexit no caller receives an error.
	_ = r.Abort()
}

// end ends the capture. If cause is not nil, it returns no graph, and cause comes first in its
// error.
func (r *recording) end(cause error) (*Graph, error) {
	if r.into.last != nil {
		g, last, err := r.endNodes(cause)
		if err != nil {
			return nil, err
		}
		r.into.ended(last)
		return g, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.mayEnd(); err != nil {
		return nil, err
	}
	return r.finish(cause)
}

// mayEnd returns an error if the capture has ended, if the caller is a host function, or if the
// capture must end on another thread. In the last case the driver would end the capture and yet
// return an error.
func (r *recording) mayEnd() error {
	if r.ended {
		return fmt.Errorf("capture of %v: %w", r.s, ErrEnded)
	}
	if err := hostthread.Refuse(); err != nil {
		return fmt.Errorf("capture of %v is still open: %w", r.s, err)
	}
	if r.locked && r.thread != 0 && hostthread.ThreadID() != r.thread {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
			"capture of %v is still open: it must end on the goroutine that began it", r.s)
	}
	return nil
}

func (r *recording) finish(cause error) (*Graph, error) {
	unjoined := r.joinAll()
	raw, err := r.endCapture()
	r.over()
	if cause == nil {
		cause = r.doomed
	}
	if err == nil {
		err = unjoined
	}
	if cause == nil && err == nil && raw != 0 {
		return r.deliver(raw)
	}
	if err == nil && cause == nil {
		err = fmt.Errorf("capture of %v: %w", r.s, ErrEmptyCapture)
	}
	return nil, r.discard(raw, cause, r.explain(err))
}

// endCapture makes sure that the stream no longer captures. If the call failed and the stream still
// captures, endCapture repeats it without binding the context.
func (r *recording) endCapture() (raw driver.CUgraph, err error) {
	if r.g != nil {
		r.g.lockLatch()
		defer r.g.mu.Unlock()
	}
	c := r.s.Context()
	err = c.Driver().CuStreamEndCapture(r.s.Raw(), &raw)
	if err == nil {
		return raw, nil
	}
	i, asked := r.info(r.s)
	if asked == nil && i.status == cu.CU_STREAM_CAPTURE_STATUS_NONE {
		return raw, err
	}
	again := c.Device().Driver().CuStreamEndCapture(r.s.Raw(), &raw)
	return raw, join([]error{err, again})
}

// over undoes the effects of begin once the driver no longer captures.
func (r *recording) over() {
	r.ended = true
	r.unwatch()
	r.unlockThread()
	for _, b := range r.branches {
		captures.All.Leave(b.s, r)
		b.s.Lifetime().Done()
	}
	r.drop.Disown()
}

func (r *recording) deliver(raw driver.CUgraph) (*Graph, error) {
	g := r.g
	if g == nil {
		g = own(r.s.Context(), r.made, raw)
	} else {
		r.release()
	}
	if err := join(r.closeEvents()); err != nil {
		return nil, join([]error{err, r.takeBack(g)})
	}
	if !r.accesses.Empty() {
		g.lockLatch()
		r.accesses.GiveTo(g.accesses)
		g.mu.Unlock()
	}
	return g, nil
}

// takeBack destroys the recorded work: the recorded nodes of a target graph, otherwise the graph g.
func (r *recording) takeBack(g *Graph) error {
	if r.into.g != nil {
		return r.undo()
	}
	return g.Close()
}

// discard destroys the recorded work if the driver returned a graph. The returned error contains
// errs first, then the errors of the cleanup.
func (r *recording) discard(raw driver.CUgraph, errs ...error) error {
	errs = append(errs, r.destroy(raw))
	errs = append(errs, r.closeEvents()...)
	err := join(errs)
	if r.g == nil {
		r.giveUp(err)
	}
	return err
}

func (r *recording) destroy(raw driver.CUgraph) error {
	switch {
	case r.g != nil:
		r.release()
		if raw != 0 {
			return r.takeBack(r.g)
		}
		r.g.lose(r)
	case raw != 0:
		return r.s.Context().Guarded().CuGraphDestroy(raw)
	}
	return nil
}

// watched makes a garbage collection end the capture if the program drops the Recording.
func (r *Recording) watched() (*Recording, error) {
	l, err := life.New(r.s.Context().Lifetime(), "capture")
	if err != nil {
		return nil, join([]error{err, r.Abort()})
	}
	r.drop = l
	life.Own(r, l, uint64(r.s.Raw()), r.recording.dropped)
	return r, nil
}

// dropped ends a capture whose Recording and scopes are unreachable. It runs on another thread.
// There the driver ends even a capture that is not relaxed, but returns CUDA's wrong-thread error.
func (r *recording) dropped(*cu.Driver) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.locked = false // this goroutine is not the locked one
	raw, err := r.endCapture()
	switch {
	case ofCapture(err):
		err = nil // the capture ended, and nobody can use the recorded work
	case err != nil:
		err = fmt.Errorf("capture of %v: %w", r.s, err)
	}
	r.over()
	return r.discard(raw, err)
}

func ofCapture(err error) bool {
	c := resultOf(err)
	return c >= driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && c <= driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
}
