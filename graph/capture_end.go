package graph

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/captures"
	"github.com/purecuda/cuda/internal/hostthread"
)

// End ends the capture and returns the graph. On error there is none.
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
	case several: // errAborted is the first
		return join(errs.Unwrap()[1:])
	}
	return err
}

var errAborted = errors.New("aborted")

// abandon ends a capture that nobody else ended.
func (r *Recording) abandon() {
	// After a panic or Goexit nobody receives an error, so there is nobody to report it to.
	_ = r.Abort()
}

// end ends the capture. With a cause there is no graph, and the cause is the
// first of the errors.
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

// mayEnd refuses what the driver would answer by an error and do all the same.
func (r *recording) mayEnd() error {
	if r.ended {
		return fmt.Errorf("capture of %v: %w", r.s, ErrEnded)
	}
	if err := hostthread.Refuse(); err != nil {
		return fmt.Errorf("capture of %v goes on: %w", r.s, err)
	}
	if r.held && r.thread != 0 && hostthread.ThreadID() != r.thread {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
			"capture of %v goes on: it ends on the goroutine that began it", r.s)
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

// endCapture makes sure that the stream does not capture afterwards: a call that
// failed before the driver did anything is made again, once, by itself.
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

// over takes back what begin did, once the driver captures no more.
func (r *recording) over() {
	r.ended = true
	r.seen()
	r.unlockThread()
	for _, b := range r.branches {
		captures.All.Leave(b.s, r)
		b.s.Lifetime().Done()
	}
	r.drop.Disown()
}

// deliver hands out what was recorded.
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

// takeBack destroys what was recorded: if anything fails there is one answer,
// and it is an error.
func (r *recording) takeBack(g *Graph) error {
	if r.into.g != nil {
		return r.undo()
	}
	return g.Close()
}

// discard destroys what was recorded, if that ended well. The errors come in
// the order in which they happened.
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
