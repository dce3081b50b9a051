package graph

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// tail is where work of an exec ends in a stream: its latest launch, as CUDA orders the launches of
// one exec, or what was staged for the next. It can be queried for completion, and other streams
// can wait for it.
//
// It never queries the context. cuCtxSynchronize invalidates every open capture in the context, of
// any thread and mode, even if guarded
// (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#prohibited-and-unhandled-operations). So
// the stream is retained, even after the program closes it, until the work is known to have ended.
// A stream that the program borrowed cannot be retained.
type tail struct {
	stream *driver.Stream
	held   bool // a reference keeps the driver's stream
	quick  bool // held, and more work there needs no more than that
	stands bool // the mark stands behind the work
	mark   *milestone
}

// follows reports whether later work in s runs after the work without further ordering.
func (t *tail) follows(s *driver.Stream) bool { return t.quick && t.stream == s }

// move makes s the stream of the work if send, which enqueues the work, succeeds.
//
// The per-thread stream is another one on another thread. For it the completion event is created
// before, and recorded after the work while the thread is the same.
func (t *tail) move(s *driver.Stream, send func() error) error {
	if s.Raw() == cu.CU_STREAM_PER_THREAD {
		return t.moveHere(s, send)
	}
	if err := s.Lifetime().Retain(); err != nil {
		return err
	}
	if err := send(); err != nil {
		s.Lifetime().Done()
		return err
	}
	t.at(s, true)
	return nil
}

// moveHere is move for the stream of this thread.
func (t *tail) moveHere(s *driver.Stream, send func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.Lifetime().Retain(); err != nil {
		return err
	}
	mark, err := t.fitting(s)
	if err != nil {
		s.Lifetime().Done()
		return err
	}
	if err := send(); err != nil { // and the work before has the mark it had
		if mark != t.mark {
			err = errors.Join(err, mark.drop())
		}
		s.Lifetime().Done()
		return err
	}
	t.at(s, false)
	_ = t.use(mark) // only a lost context does not destroy an event, which whatever is asked of it says
	t.stands = t.markHere()
	return nil
}

// markHere records the completion event after the work in the stream of this thread. If it cannot,
// it waits for the work now, because later nothing identifies the stream. If that fails as well,
// the context is lost. During a capture nothing runs.
func (t *tail) markHere() bool {
	stands, err := t.mark.record(t.stream)
	if err != nil && t.stream.Context().Guarded().CuStreamSynchronize(t.stream.Raw()) == nil {
		stands, err = t.mark.record(t.stream)
	}
	return err == nil && stands
}

// at makes s, which is held, the stream.
func (t *tail) at(s *driver.Stream, quick bool) {
	t.release()
	t.stream, t.held, t.quick, t.stands = s, true, quick, false
}

// release gives the stream back, whose work has ended or is ordered before what
// comes.
func (t *tail) release() {
	if t.held {
		t.held, t.quick = false, false
		t.stream.Lifetime().Done()
	}
}

// fitting returns a mark that can be recorded in s: the one that is there, or a new
// one for use.
func (t *tail) fitting(s *driver.Stream) (*milestone, error) {
	if t.mark.fits(s) {
		return t.mark, nil
	}
	return newMilestone(s)
}

// use has m be the mark, in place of the one that is there.
func (t *tail) use(m *milestone) error {
	if m == t.mark {
		return nil
	}
	err := t.mark.drop()
	t.mark, t.stands = m, false
	return err
}

// marked records the completion event after the work, unless that is done already. It returns false
// while the stream is being captured.
func (t *tail) marked() (bool, error) {
	if t.stands {
		return true, nil
	}
	if t.stream.Raw() == cu.CU_STREAM_PER_THREAD { // see markHere
		return false, driver.CUDA_ERROR_CONTEXT_IS_DESTROYED
	}
	mark, err := t.fitting(t.stream)
	if err != nil {
		return false, err
	}
	if err := t.use(mark); err != nil {
		return false, err
	}
	t.stands, err = t.mark.record(t.stream)
	return t.stands, err
}

// passed reports whether the work has been seen to have ended. Without a completion event it
// queries the stream, which may finish later than the work.
func (t *tail) passed() (bool, error) {
	stands, err := t.marked()
	if err == nil && stands {
		return t.mark.happened()
	}
	if err == nil || t.stream.Raw() == cu.CU_STREAM_PER_THREAD {
		return false, err
	}
	var done bool
	_, err = outsideCaptures(t.stream, func() (err error) {
		done, err = happened(t.stream.Context().Guarded().CuStreamQuery(t.stream.Raw()))
		return err
	})
	return done, err
}

// precede makes later work in s run after the work.
func (t *tail) precede(s *driver.Stream) error {
	stands, err := t.marked()
	if err != nil {
		return fmt.Errorf("%v: %w", t.stream, err)
	}
	if !stands {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"this has to run behind what was sent to %v, which is being captured meanwhile: end that capture first, or wait before it begins", t.stream)
	}
	return s.Driver().CuStreamWaitEvent(s.Raw(), t.mark.event, 0)
}

// share returns a tail of the same work.
func (t *tail) share() tail {
	c := tail{stream: t.stream, held: t.held}
	if t.held {
		t.stream.Lifetime().RetainHeld()
	}
	if t.stands {
		t.mark.refs.Add(1)
		c.mark, c.stands = t.mark, true
	}
	return c
}

// end gives back everything. The context may go with the stream, so that is last.
func (t *tail) end() error {
	err := t.mark.drop()
	t.mark, t.stands = nil, false
	t.release()
	return err
}
