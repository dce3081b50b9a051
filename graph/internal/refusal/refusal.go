// Package refusal contains errors for calls that package graph and the packages below it reject
// before the driver sees them.
package refusal

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// refusal is an error of this module with the code that the driver returns, or would return, and a
// reason that the driver does not report.
type refusal struct {
	msg  string
	code driver.CUresult
}

func (e *refusal) Error() string { return e.msg }

// Unwrap makes errors.Is match the driver's code.
func (e *refusal) Unwrap() error { return e.code }

// Is matches ErrNotSupported, like the driver's own error with that code.
func (e *refusal) Is(target error) bool {
	return target == driver.ErrNotSupported && e.code == driver.CUDA_ERROR_NOT_SUPPORTED
}

// New returns an error that matches a code.
func New(code driver.CUresult, format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...), code}
}

// Invalid returns an error that matches CUDA_ERROR_INVALID_VALUE.
func Invalid(format string, args ...any) error {
	return New(driver.CUDA_ERROR_INVALID_VALUE, format, args...)
}

// Join is like errors.Join, but does not wrap a single error.
func Join(errs []error) error {
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

// IsKernelFault reports whether a wait failed only because of a kernel fault. The work has ended then,
// and the context works.
func IsKernelFault(err error) bool {
	if err == nil {
		return false // checked first, so that the variables below, which escape, are not allocated without need
	}
	var fault *driver.KernelFault
	var other *driver.Error
	return errors.As(err, &fault) && !errors.As(err, &other)
}

// IgnoreFault removes kernel faults from the error of a wait that only protects host memory. A
// kernel fault is not lost, because another wait for the same stream returns it.
func IgnoreFault(err error) error {
	if IsKernelFault(err) {
		return nil
	}
	return err
}

// OtherDriver returns an error if the second context belongs to a different driver than c, such as an
// emulator, because its handles are invalid in c's driver. Different contexts of one driver are left
// to CUDA or [OtherContext].
func OtherDriver(c *driver.Context, what any, of *driver.Context) error {
	if c == of || c.Device().Driver() == of.Device().Driver() {
		return nil
	}
	return Invalid("%v belongs to another driver, %s", what, of.Device().Driver().Library().Name())
}

// OtherContext returns an error if the two contexts differ. Two Contexts with the same
// driver context count as the same.
func OtherContext(c *driver.Context, what any, of *driver.Context) error {
	if c == of {
		return nil
	}
	if err := OtherDriver(c, what, of); err != nil {
		return err
	}
	if c.Raw() != of.Raw() {
		return Invalid("%v belongs to %v, not to %v", what, of, c)
	}
	return nil
}

// Uncapturable returns an error for a stream whose capture the driver would reject without a
// reason.
func Uncapturable(s *driver.Stream) error {
	if err := s.Ready(); err != nil {
		return fmt.Errorf("cannot capture: %w", err)
	}
	if raw := s.Raw(); raw == 0 || raw == cu.CU_STREAM_LEGACY {
		return New(driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"cannot capture the %v: CUDA never captures that stream, use one of Context.NewStream", s)
	}
	return nil
}

// Code returns the driver code that errors.As finds in err, or 0.
func Code(err error) driver.CUresult {
	if err == nil { // checked first, because errors.As allocates
		return 0
	}
	var code driver.CUresult
	if errors.As(err, &code) {
		return code
	}
	return 0
}

// Operation returns an error if op is nil, belongs to a driver other than ctx's, or is a launch whose
// restrict arguments overlap.
func Operation(ctx *driver.Context, op driver.Op) error {
	if op == nil {
		return Invalid("nil operation")
	}
	if l, ok := op.(*driver.Launch); ok {
		if err := l.CheckRestrict(); err != nil {
			return err
		}
	}
	c := op.Context()
	if c == ctx {
		return nil
	}
	if c == nil {
		return op.Enqueue(nil) // returns the error for a nil or zero object without a driver call
	}
	return OtherDriver(ctx, "it", c)
}
