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

func resultOf(err error) driver.CUresult { return refusal.Code(err) }
