package graph

import (
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// explain says what the driver does not: why ending a capture failed.
func (r *recording) explain(err error) error {
	if err == nil {
		return nil
	}
	reason := ""
	switch resultOf(err) {
	case driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
		reason = r.invalidatedBy()
	case driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
		reason = r.unjoined()
	}
	if reason == "" {
		return fmt.Errorf("capture of %v: %w", r.s, err)
	}
	return fmt.Errorf("capture of %v: %s: %w", r.s, reason, err)
}

// invalidatedBy names the call that the capture did not allow: an operation of
// its scopes, or else a call of this process that failed for that reason since
// the capture began.
func (r *recording) invalidatedBy() string {
	if first := r.first.Load(); first != nil {
		return "invalidated when " + *first
	}
	if e := likeliest(cu.CaptureFaultsSince(r.faults)); e != nil {
		return fmt.Sprintf("invalidated by a call that failed while it was open (%v)", e)
	}
	return "invalidated by a call that it does not allow, made past this library or after the capture had failed"
}

// likeliest is the first failure whose code speaks of a capture, or else the
// first of all, up to the one that found the capture invalidated.
func likeliest(errs []*driver.Error) *driver.Error {
	var first *driver.Error
	for _, e := range errs {
		switch c := e.Result; {
		case c == driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
			return first
		case c >= driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && c <= driver.CUDA_ERROR_CAPTURED_EVENT:
			return e
		case first == nil:
			first = e
		}
	}
	return first
}

func (r *recording) unjoined() string {
	var names []string
	for _, b := range r.branches[1:] {
		if b.open {
			names = append(names, b.s.String())
		}
	}
	if len(names) == 0 {
		return "a stream that was forked from it was not joined"
	}
	return strings.Join(names, ", ") + " was forked from it and not joined, call Scope.Join"
}
