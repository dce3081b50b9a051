package graph

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

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
	r, err := begin(target{}, s, mode)
	if err != nil {
		return nil, err
	}
	defer r.abandon() // record panicked or called runtime.Goexit
	return r.end(record(&r.scope))
}

// Recording is an open capture. It is the form of Capture for code that cannot
// be put into a function; whoever begins one ends it on every path. One that is
// dropped is ended by the collector, which throws away what it recorded and
// reports it as a leak. Its goroutine, if it was held on its thread, stays
// there.
type Recording struct {
	*recording
	scope Scope
}

// recording is what a capture is beside the value that programs hold, to which
// it does not refer: that one can be dropped.
type recording struct {
	s      *driver.Stream
	mode   Mode
	life   *driver.Lifetime // of the graph to be
	open   *driver.Lifetime // of the Recording, where it can be dropped
	held   bool             // the goroutine is locked to its thread
	thread uint64           // which that is
	faults uint64           // driver.CaptureFaults when it began
	seen   func()           // ends the watch over failing calls
	where  place
	into   target
	home   *Graph // of the capture of a body: the outermost graph that it will be in

	mu       sync.Mutex
	ended    bool
	own      *owners                // of the graph to be, as long as g is nil
	g        *Graph                 // what is recorded into, once somebody has it
	doomed   error                  // why nothing becomes of it, though the driver knows no reason
	planned  []planned              // conditional nodes to be, in a body
	branches []*branch              // the streams that are captured; the first one began
	origin   branch                 // that first one
	room     [1]*branch             // for branches, as long as there is no other
	first    atomic.Pointer[string] // the operation of a scope that failed first
	uses     recordedUses
}

// branch is one stream of a capture.
type branch struct {
	s     *driver.Stream
	event *driver.Event // for forks and joins; made when needed
	open  bool          // used since it was joined last
}

// Begin begins to capture s. The goroutine that calls it also calls End or
// Abort, unless the mode is ModeRelaxed.
func Begin(s *driver.Stream, mode Mode) (*Recording, error) {
	r, err := begin(target{}, s, mode)
	if err != nil {
		return nil, err
	}
	return r.watched()
}

func begin(into target, s *driver.Stream, mode Mode) (*Recording, error) {
	if err := capturable(s); err != nil {
		return nil, err
	}
	r := &Recording{recording: &recording{s: s, mode: mode, into: into, origin: branch{s: s}}}
	r.room[0] = &r.origin
	r.branches = r.room[:]
	r.scope = Scope{r: r.recording, s: s, b: &r.origin, whole: r}
	r.where.mark()
	if err := r.begin(); err != nil {
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

func (r *recording) begin() error {
	if err := capturing.enter(r.s, r); err != nil {
		return err
	}
	if err := r.begun(); err != nil {
		capturing.leave(r.s, r)
		return err
	}
	return nil
}

// begun begins the capture and takes what it needs until it ends.
func (r *recording) begun() (err error) {
	if err := r.s.Lifetime().Retain(); err != nil {
		return err
	}
	if r.into.g == nil {
		if r.life, err = driver.NewLifetime(r.s.Context(), "graph"); err != nil {
			r.s.Lifetime().Done()
			return err
		}
		r.own = newOwners()
	}
	r.faults = driver.CaptureFaults()
	r.lockThread()
	r.seen = driver.WatchCapture()
	if err := r.beginDriver(); err != nil {
		r.seen()
		r.unlockThread()
		r.giveUp(err)
		r.s.Lifetime().Done()
		return err
	}
	return nil
}

// giveUp is for the graph to be that will not be.
func (r *recording) giveUp(err error) {
	if r.life != nil {
		_ = r.life.Abandon(err)
		r.own.release()
	}
}

func (r *recording) beginDriver() error {
	if r.into.g != nil {
		return r.beginInto()
	}
	err := r.s.Context().Driver().CuStreamBeginCapture(r.s.Raw(), r.mode)
	if resultOf(err) == driver.CUDA_ERROR_ILLEGAL_STATE {
		return fmt.Errorf("it is being captured already: %w", err)
	}
	return err
}

// lockThread: a capture that is not relaxed ends on the thread where it began,
// and so does any capture of the per-thread stream, which is another stream on
// another thread.
func (r *recording) lockThread() {
	if r.mode != ModeRelaxed || r.s.Raw() == driver.CU_STREAM_PER_THREAD {
		r.held = true
		runtime.LockOSThread()
		r.thread = driver.ThreadID()
	}
}

func (r *recording) unlockThread() {
	if r.held {
		runtime.UnlockOSThread()
	}
}

// Scope is where work is recorded.
func (r *Recording) Scope() *Scope { return &r.scope }

// closeEvents gives back what forks and joins needed.
func (r *recording) closeEvents() (errs []error) {
	for _, b := range r.branches {
		if err := b.event.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
