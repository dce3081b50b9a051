package driver

import (
	"errors"
	"fmt"
)

// ErrContextLost is matched by the codes after which no context of the device
// works any more in this process: a kernel touched memory that is not its own
// (CUDA_ERROR_ILLEGAL_ADDRESS), trapped (CUDA_ERROR_LAUNCH_FAILED), the memory
// broke (CUDA_ERROR_ECC_UNCORRECTABLE) and the like. Every later call that
// needs the device answers the same code, in new contexts too. What is left to
// do is to close what is open and to end the process: a new one can use the
// device again.
//
// CUDA_ERROR_UNKNOWN does not match, because the driver answers it for passing
// failures as well; [Context.Lost] tells.
var ErrContextLost = errors.New("the CUDA context is lost")

// lostHint ends the hints of the codes that match ErrContextLost.
const lostHint = "the context is lost: close what is open and go on in a new process"

// Is has errors.Is match [ErrContextLost] with the codes that mean it.
func (r CUresult) Is(target error) bool {
	return target == ErrContextLost && r.losesContext()
}

func (r CUresult) losesContext() bool {
	switch r {
	case CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTAINED,
		CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_ASSERT,
		CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,
		CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_LAUNCH_FAILED,
		CUDA_ERROR_TENSOR_MEMORY_LEAK, CUDA_ERROR_MPS_CLIENT_TERMINATED, CUDA_ERROR_EXTERNAL_DEVICE,
		CUDA_ERROR_KEY_ROTATION:
		return true
	}
	return false
}

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
	if code := CUresult(0); errors.As(e.err, &code) && code.losesContext() {
		return fmt.Sprintf("%s: %v", e.context, e.err)
	}
	return fmt.Sprintf("%s: %v; %s", e.context, e.err, lostHint)
}

func (e *lostError) Unwrap() []error { return []error{e.err, ErrContextLost} }
