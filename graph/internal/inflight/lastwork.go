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
// launch. CUDA orders the launches of one Exec, so only the latest matters. LastWork can be queried
// for completion, and other streams can wait for it.
//
// LastWork never queries the context. cuCtxSynchronize invalidates every open capture in the
// context, of any thread and mode, even if guarded
// (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#prohibited-and-unhandled-operations). So
// LastWork retains the stream until the work is known to have ended, even if the program closes the
// stream. A stream that the program borrowed cannot be retained.
type LastWork struct {
	Stream   *driver.Stream
	retained bool // a reference keeps the driver's stream alive
	direct   bool // retained, and later work in it needs no further ordering
	Recorded bool // the event was recorded after the work
	event    *CompletionEvent
}

// Follows reports whether later work in s runs after the work without further ordering.
func (t *LastWork) Follows(s *driver.Stream) bool { return t.direct && t.Stream == s }

// Move calls send, which enqueues the work, and makes s the stream of the work if send succeeds.
//
// The per-thread stream is a different stream on each thread. For the per-thread stream, Move
// creates the completion event before the work and records it after the work on the same thread.
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
// fails, it waits for the work now, because no later call can identify the stream. If the wait
// fails too, the context is lost. During a capture the work does not run.
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

// release releases the stream once its work has ended or is ordered before later work.
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

// HasEnded reports whether the work is known to have ended. Without a completion event, HasEnded
// queries the stream, which may finish later than the work.
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

// IsIdle is like HasEnded, but records no event if there is none, because an event is not complete
// immediately after it was recorded. It queries the stream instead.
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

// Again records that the latest work is now later work in the same stream, enqueued by the caller
// after Follows returned true.
func (t *LastWork) Again() { t.Recorded = false }

// End releases the event and the stream, and returns errors of both. No other work may need to be
// ordered after the work.
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

// end releases everything. The stream comes last, because the context may end with it.
func (t *LastWork) end() error {
	err := t.event.release()
	t.event, t.Recorded = nil, false
	t.release()
	return err
}
