package driver

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/internal/hint"
)

// Lost asks the driver whether the context still works. It returns nil, or an
// error that matches [ErrContextLost] and the code with which the driver
// refuses even to say how much memory is free, whichever that is: for health
// checks, and for telling a passing CUDA_ERROR_UNKNOWN from a device that is
// gone. It does not wait for the device, so a kernel that is about to fail is
// not known to have failed, and it disturbs no capture.
//
// For a context that is closed the error matches [ErrClosed] only.
func (c *Context) Lost() error {
	if err := c.check(); err != nil {
		return err
	}
	if err := notInCallback(); err != nil {
		return err
	}
	if err := c.core.life.Retain(); err != nil { // a Close meanwhile is no loss
		return err
	}
	defer c.core.life.Done()
	var free, total uintptr
	err := c.core.guarded.CuMemGetInfo(&free, &total)
	if err == nil {
		return nil
	}
	return &lostError{c.String(), err}
}

// lostError is a failure that says that a context is lost whatever its code.
type lostError struct {
	context string
	err     error
}

func (e *lostError) Error() string {
	if code := CUresult(0); errors.As(e.err, &code) && code.Is(ErrContextLost) {
		return fmt.Sprintf("%s: %v", e.context, e.err)
	}
	return fmt.Sprintf("%s: %v; %s", e.context, e.err, hint.ContextLost)
}

func (e *lostError) Unwrap() []error { return []error{e.err, ErrContextLost} }
