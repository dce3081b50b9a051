package graph

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// ErrEnded is matched by the error of a Scope or Recording that is used after
// its capture ended.
var ErrEnded = errors.New("capture has ended")

// ErrEmptyCapture is matched when a capture ended well and the driver gave no
// graph for it.
var ErrEmptyCapture = errors.New("capture gave no graph")

// refusal is a call that was not made, or would have been refused by the
// driver with the same code and no reason.
type refusal struct {
	msg  string
	code driver.CUresult
}

func (e *refusal) Error() string { return e.msg }

// Unwrap has errors.Is match the code that the driver has for it.
func (e *refusal) Unwrap() error { return e.code }

// Is matches ErrNotSupported, as the driver's answer with that code does.
func (e *refusal) Is(target error) bool {
	return target == driver.ErrNotSupported && e.code == driver.CUDA_ERROR_NOT_SUPPORTED
}

func refuse(code driver.CUresult, format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...), code}
}

func invalid(format string, args ...any) error {
	return refuse(driver.CUDA_ERROR_INVALID_VALUE, format, args...)
}

// nilGraph and nilExec answer the methods of nil objects.
var (
	nilGraph = fmt.Errorf("nil graph: %w", driver.ErrClosed)
	nilExec  = fmt.Errorf("nil executable graph: %w", driver.ErrClosed)
)

// resultOf returns the driver's code in an error, or 0.
func resultOf(err error) driver.CUresult {
	var code driver.CUresult
	if errors.As(err, &code) {
		return code
	}
	return 0
}

var nilRecording = fmt.Errorf("nil capture: %w", driver.ErrClosed)

// join is errors.Join without the wrapping of a single error.
func join(errs []error) error {
	var only error
	n := 0
	for _, e := range errs {
		if e != nil {
			only = e
			n++
		}
	}
	if n == 1 {
		return only
	}
	return errors.Join(errs...)
}
