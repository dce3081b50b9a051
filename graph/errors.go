package graph

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// ErrEnded is matched by the error of a Scope or Recording that is used after
// its capture ended.
var ErrEnded = errors.New("capture has ended")

// ErrEmptyCapture is matched when a capture ended well and the driver gave no
// graph for it.
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
