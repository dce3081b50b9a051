package graph

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// ErrEnded matches the error of using a Scope or Recording after its capture ended.
var ErrEnded = errors.New("capture has ended")

// ErrEmptyCapture matches the error of a capture that ended well but for which the driver returned
// no graph.
var ErrEmptyCapture = errors.New("capture gave no graph")

func refuse(code driver.CUresult, format string, args ...any) error {
	return refusal.New(code, format, args...)
}

func invalid(format string, args ...any) error { return refusal.Invalid(format, args...) }

func join(errs []error) error { return refusal.Join(errs) }

// resultOf returns the driver's code in an error, or 0.
func resultOf(err error) driver.CUresult {
	if err == nil { // errors.As takes a place on the heap
		return 0
	}
	var code driver.CUresult
	if errors.As(err, &code) {
		return code
	}
	return 0
}
