package driver

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/internal/hint"
	"github.com/purecuda/cuda/internal/hostthread"
)

// Lost queries whether the context still works. It returns nil, or an error that matches
// [ErrContextLost] and the code with which the driver refuses a trivial query. Use it for health
// checks, and to distinguish a transient CUDA_ERROR_UNKNOWN from a lost device. It does not wait
// for the device, so it does not detect a kernel that is about to fail, and it does not disturb
// captures.
//
// For a closed context the error matches [ErrClosed] only.
func (c *Context) Lost() error {
	if err := c.check(); err != nil {
		return err
	}
	if err := hostthread.Refuse(); err != nil {
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

// lostError is a failure that means a lost context, whatever its code.
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
