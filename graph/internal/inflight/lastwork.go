package inflight

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// LastWork is the last work of an Exec in a stream: its latest launch, or work staged for the next
// launch. CUDA orders the launches of one Exec, so only the latest matters. The work can be queried
// for completion, and other streams can wait for it.
//
// LastWork never waits for the whole context. cuCtxSynchronize, even if guarded, invalidates every
// open capture in the context, of any thread and mode
// (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#prohibited-and-unhandled-operations). So
// LastWork retains the stream until the work is known to have ended, even if the program closes the
// stream. A borrowed stream cannot be retained.
type LastWork struct {
	Stream   *driver.Stream
	retained bool // a reference keeps the stream alive
	direct   bool // the stream is retained, and later work in it needs no further ordering
	Recorded bool // the event was recorded after the work
	event    *CompletionEvent
}

// Follows reports whether later work in s runs after the work without further ordering.
func (t *LastWork) Follows(s *driver.Stream) bool { return t.direct && t.Stream == s }

// Move calls send, which enqueues work in s. If send succeeds, the LastWork then refers to that
// work.
//
// The per-thread stream is a different stream on each thread. For it, Move creates the completion
// event before the work and records it after the work, on the same thread.
func (t *LastWork) Move(s *driver.Stream, send func() error) error {
	if s.Raw() == cu.CU_STREAM_PER_THREAD {
		return t.moveOnThread(s, send)
	}
	if err := s.Lifetime().Retain(); err != nil {
		return err
	}
	if err := send(); err != nil {
		s.Lifetime().Done()
		return err
	}
	t.moved(s, true)
	return nil
}

// moveOnThread does the work of Move for the per-thread stream of this thread.
func (t *LastWork) moveOnThread(s *driver.Stream, send func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.Lifetime().Retain(); err != nil {
		return err
	}
	event, err := t.eventFor(s)
	if err != nil {
		s.Lifetime().Done()
		return err
	}
	if err := send(); err != nil { // the earlier work keeps its event
		if event != t.event {
			err = errors.Join(err, event.release())
		}
		s.Lifetime().Done()
		return err
	}
	t.moved(s, false)
	_ = t.use(event) // fails only if the context is lost, which every later call reports
	t.Recorded = t.recordHere()
	return nil
}

// recordHere records the completion event after the work in the stream of this thread. If that
// fails, it waits for the work immediately, because a later call may be on another thread and
// cannot use the stream. If the wait fails as well, the context is lost. It returns false if the
// stream is being captured, because the work does not run.
func (t *LastWork) recordHere() bool {
	recorded, err := t.event.record(t.Stream)
	if err != nil && t.Stream.Context().Guarded().CuStreamSynchronize(t.Stream.Raw()) == nil {
		recorded, err = t.event.record(t.Stream)
	}
	return err == nil && recorded
}

func (t *LastWork) moved(s *driver.Stream, direct bool) {
	t.release()
	t.Stream, t.retained, t.direct, t.Recorded = s, true, direct, false
}

// release releases the stream once its work has ended, or once later work is ordered after it.
func (t *LastWork) release() {
	if t.retained {
		t.retained, t.direct = false, false
		t.Stream.Lifetime().Done()
	}
}

// eventFor returns an event that can be recorded in s: the current event, or a new one to pass to
// use.
func (t *LastWork) eventFor(s *driver.Stream) (*CompletionEvent, error) {
	if t.event.fits(s) {
		return t.event, nil
	}
	return newEvent(s)
}

func (t *LastWork) use(m *CompletionEvent) error {
	if m == t.event {
		return nil
	}
	err := t.event.release()
	t.event, t.Recorded = m, false
	return err
}

// ensureRecorded records the completion event after the work if it is not yet recorded. It returns
// false while the stream is being captured.
func (t *LastWork) ensureRecorded() (bool, error) {
	if t.Recorded {
		return true, nil
	}
	if t.Stream.Raw() == cu.CU_STREAM_PER_THREAD { // see recordHere
		return false, driver.CUDA_ERROR_CONTEXT_IS_DESTROYED
	}
	event, err := t.eventFor(t.Stream)
	if err != nil {
		return false, err
	}
	if err := t.use(event); err != nil {
		return false, err
	}
	t.Recorded, err = t.event.record(t.Stream)
	return t.Recorded, err
}

// HasEnded reports whether the work is known to have ended. If no completion event can be recorded,
// HasEnded queries the stream, which may contain later work.
func (t *LastWork) HasEnded() (bool, error) {
	recorded, err := t.ensureRecorded()
	if err == nil && recorded {
		return t.event.completed()
	}
	if err == nil || t.Stream.Raw() == cu.CU_STREAM_PER_THREAD {
		return false, err
	}
	var done bool
	_, err = outsideCaptures(t.Stream, func() (err error) {
		done, err = completed(t.Stream.Context().Guarded().CuStreamQuery(t.Stream.Raw()))
		return err
	})
	return done, err
}

// IsIdle is like HasEnded, but if no event is recorded yet, it queries the stream instead of
// recording one. A newly recorded event would not be complete immediately.
func (t *LastWork) IsIdle() (idle bool, err error) {
	if t.Recorded {
		return t.event.completed()
	}
	_, err = outsideCaptures(t.Stream, func() (err error) {
		idle, err = completed(t.Stream.Context().Guarded().CuStreamQuery(t.Stream.Raw()))
		return err
	})
	return idle, err
}

// Precede makes later work in s run after the work.
func (t *LastWork) Precede(s *driver.Stream) error {
	recorded, err := t.ensureRecorded()
	if err != nil {
		return fmt.Errorf("%v: %w", t.Stream, err)
	}
	if !recorded {
		return refusal.New(driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"this must run after earlier work on %v, which is now being captured: end that capture first, or wait before it begins", t.Stream)
	}
	return s.Driver().CuStreamWaitEvent(s.Raw(), t.event.event, 0)
}

// Settle records the completion event, if it is not yet recorded. Precede then works while the stream
// is being captured.
func (t *LastWork) Settle() error {
	_, err := t.ensureRecorded()
	return err
}

// Again records that the caller has enqueued later work in the same stream, which is now the last
// work. Follows must have returned true.
func (t *LastWork) Again() { t.Recorded = false }

// End releases the event and the stream. Call it only if no other work needs to be ordered after
// the work.
func (t *LastWork) End() error {
	err := t.event.release()
	t.event, t.Recorded = nil, false
	if t.retained {
		t.retained, t.direct = false, false
		err = errors.Join(err, t.Stream.Lifetime().Release())
	}
	return err
}

func (t *LastWork) share() LastWork {
	c := LastWork{Stream: t.Stream, retained: t.retained}
	if t.retained {
		t.Stream.Lifetime().RetainHeld()
	}
	if t.Recorded {
		t.event.refs.Add(1)
		c.event, c.Recorded = t.event, true
	}
	return c
}

// end is like End, but releases the stream last, because the context may end with it.
func (t *LastWork) end() error {
	err := t.event.release()
	t.event, t.Recorded = nil, false
	t.release()
	return err
}
