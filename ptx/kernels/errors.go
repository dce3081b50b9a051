package kernels

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// invalidError is an invalid operand that is detected before the driver sees it. It
// matches CUDA_ERROR_INVALID_VALUE.
type invalidError struct{ text string }

func (e *invalidError) Error() string { return e.text }
func (e *invalidError) Is(target error) bool {
	return target == error(driver.CUDA_ERROR_INVALID_VALUE)
}

func invalid(format string, args ...any) error {
	return &invalidError{fmt.Sprintf(format, args...)}
}

// opError names the operation that could not be created.
func opError(op string, err error) error { return fmt.Errorf("kernels: %s: %w", op, err) }
