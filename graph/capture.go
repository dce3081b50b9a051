package graph

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// Capture records what record sends to the stream s, through the Scope it gets
// or any other way, and returns it as a graph. Nothing of it runs.
//
// However record ends, the capture ends with it: if record returns an error,
// panics or leaves its goroutine, what was recorded is destroyed and s takes
// work again. An error of record comes first in the error that Capture returns,
// a panic goes on after the cleanup.
//
// In modes other than ModeRelaxed the goroutine stays on one OS thread while it
// captures.
func Capture(s *driver.Stream, mode Mode, record func(*Scope) error) (*Graph, error) {
	if record == nil {
		return nil, invalid("capture of %v: no function to record", s)
	}
	r, err := Begin(s, mode)
	if err != nil {
		return nil, err
	}
	defer r.abandon() // record panicked or called runtime.Goexit
	return r.end(record(&r.scope))
}

// Recording is an open capture. It is the form of Capture for code that cannot
// be put into a function; whoever begins one ends it on every path.
type Recording struct {
	scope  Scope
	mode   Mode
	life   *driver.Lifetime // of the graph to be
	held   bool             // the goroutine is locked to its thread
	thread uint64           // which that is
	faults uint64           // driver.CaptureFaults when it began
	seen   func()           // ends the watch over failing calls
	where  place

	mu    sync.Mutex
	ended bool
	own   *owners
	forks []*Scope
	first error // of an operation that was sent to a scope
	uses  recordedUses
}

// Begin begins to capture s. The goroutine that calls it also calls End or
// Abort, unless the mode is ModeRelaxed.
func Begin(s *driver.Stream, mode Mode) (*Recording, error) {
	if err := capturable(s); err != nil {
		return nil, err
	}
	r := &Recording{mode: mode, own: newOwners()}
	r.scope = Scope{r: r, s: s}
	r.where.mark()
	if err := r.begin(); err != nil {
		r.own.release()
		return nil, fmt.Errorf("cannot capture %v: %w", s, err)
	}
	return r, nil
}

// capturable refuses streams that the driver would refuse for a reason it does
// not give.
func capturable(s *driver.Stream) error {
	if err := s.Ready(); err != nil {
		return fmt.Errorf("cannot capture: %w", err)
	}
	if raw := s.Raw(); raw == 0 || raw == driver.CU_STREAM_LEGACY {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"cannot capture the %v: CUDA never captures that stream, use one of Context.NewStream", s)
	}
	return nil
}

func (r *Recording) begin() error {
	s := r.scope.s
	if err := capturing.enter(s, r); err != nil {
		return err
	}
	life, err := driver.NewLifetime(s.Context(), "graph")
	if err != nil {
		capturing.leave(s, r)
		return err
	}
	r.life = life
	r.faults = driver.CaptureFaults()
	r.lockThread()
	r.seen = driver.WatchCapture()
	if err := s.Context().Driver().CuStreamBeginCapture(s.Raw(), r.mode); err != nil {
		r.seen()
		r.unlockThread()
		capturing.leave(s, r)
		_ = life.Abandon(err)
		return err
	}
	return nil
}

// lockThread: a capture that is not relaxed ends on the thread where it began,
// and so does any capture of the per-thread stream, which is another stream on
// another thread.
func (r *Recording) lockThread() {
	if r.mode != ModeRelaxed || r.scope.s.Raw() == driver.CU_STREAM_PER_THREAD {
		r.held = true
		runtime.LockOSThread()
		r.thread = driver.ThreadID()
	}
}

func (r *Recording) unlockThread() {
	if r.held {
		runtime.UnlockOSThread()
	}
}

// Scope is where work is recorded.
func (r *Recording) Scope() *Scope { return &r.scope }

// End ends the capture and returns the graph.
func (r *Recording) End() (*Graph, error) { return r.end(nil) }

// Abort ends the capture and destroys what was recorded. After End it does
// nothing, so it may be deferred.
func (r *Recording) Abort() error {
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
	case several: // errAborted is the first
		return join(errs.Unwrap()[1:])
	}
	return err
}

var errAborted = errors.New("aborted")

// abandon ends a capture that nobody else ended.
func (r *Recording) abandon() {
	// Whoever panicked or left does not wait for an answer; what could not be
	// given back is in it and nowhere else, so there is nobody to tell.
	_ = r.Abort()
}

// end ends the capture. With a cause there is no graph, and the cause is the
// first of the errors.
func (r *Recording) end(cause error) (*Graph, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.scope.s
	if r.ended {
		return nil, fmt.Errorf("capture of %v: %w", s, ErrEnded)
	}
	// The driver would fail and end the capture all the same.
	if r.held && driver.ThreadID() != r.thread {
		return nil, refuse(driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
			"capture of %v goes on: it ends on the goroutine that began it", s)
	}
	raw, err := r.endCapture()
	r.ended = true
	r.seen()
	r.unlockThread()
	r.leave()
	runtime.KeepAlive(s)
	if cause == nil && err == nil && raw != 0 {
		g := own(s.Context(), r.life, raw, r.own)
		r.uses.giveTo(g)
		return g, r.closeEvents(g)
	}
	if err == nil && cause == nil {
		err = fmt.Errorf("capture of %v: %w", s, ErrEmptyCapture)
	}
	return nil, r.discard(raw, cause, r.explain(err))
}

// endCapture makes sure that the stream does not capture afterwards: a call that
// failed before the driver did anything is made again, once, by itself.
func (r *Recording) endCapture() (raw driver.CUgraph, err error) {
	s := r.scope.s
	err = s.Context().Driver().CuStreamEndCapture(s.Raw(), &raw)
	if err == nil {
		return raw, nil
	}
	status, _, asked := s.CaptureStatus()
	if asked == nil && status == driver.CU_STREAM_CAPTURE_STATUS_NONE {
		return raw, err
	}
	again := s.Context().Device().Driver().CuStreamEndCapture(s.Raw(), &raw)
	return raw, join([]error{err, again})
}

// discard destroys what was recorded. The errors come in the order in which
// they happened.
func (r *Recording) discard(raw driver.CUgraph, errs ...error) error {
	if raw != 0 {
		errs = append(errs, r.scope.s.Context().Guarded().CuGraphDestroy(raw))
	}
	errs = append(errs, r.scope.closeEvent())
	for _, f := range r.forks {
		errs = append(errs, f.closeEvent())
	}
	r.own.release()
	err := join(errs)
	_ = r.life.Abandon(err)
	return err
}

// closeEvents gives back what forks and joins needed. If that fails the graph
// goes too: there is one answer, and it is an error.
func (r *Recording) closeEvents(g *Graph) error {
	errs := []error{r.scope.closeEvent()}
	for _, f := range r.forks {
		errs = append(errs, f.closeEvent())
	}
	if err := join(errs); err != nil {
		return join([]error{err, g.Close()})
	}
	return nil
}

// leave takes the capture's streams off the list of capturing ones.
func (r *Recording) leave() {
	capturing.leave(r.scope.s, r)
	for _, f := range r.forks {
		capturing.leave(f.s, r)
	}
}

// join is errors.Join without the wrapping of a single error.
func join(errs []error) error {
	var only error
	n := 0
	for _, e := range errs {
		if e != nil {
			only = e
			n++
		}
	}
	if n == 1 {
		return only
	}
	return errors.Join(errs...)
}
