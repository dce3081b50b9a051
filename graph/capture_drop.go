package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// watched has the capture end when the program drops it.
func (r *Recording) watched() (*Recording, error) {
	l, err := life.New(r.s.Context().Lifetime(), "capture")
	if err != nil {
		return nil, join([]error{err, r.Abort()})
	}
	r.drop = l
	life.Own(r, l, uint64(r.s.Raw()), r.recording.dropped)
	return r, nil
}

// dropped ends a capture whose Recording is unreachable, and its scopes. It
// runs on a thread of its own: there the driver ends a capture that is not
// relaxed, too, and says that it was the wrong one.
func (r *recording) dropped(*cu.Driver) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.held = false // the goroutine that is held is another one
	raw, err := r.endCapture()
	switch {
	case ofCapture(err):
		err = nil // it ended, in a way that nobody minds any more
	case err != nil:
		err = fmt.Errorf("capture of %v: %w", r.s, err)
	}
	r.over()
	return r.discard(raw, err)
}

// ofCapture reports whether an error says that what was recorded is no good.
func ofCapture(err error) bool {
	c := resultOf(err)
	return c >= driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && c <= driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
}
