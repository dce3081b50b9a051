package cu

import (
	"errors"

	"github.com/purecuda/cuda/internal/hint"
)

// lostHint ends the hint of every code that matches ErrContextLost.
const lostHint = hint.ContextLost

// ErrContextLost matches the codes after which no context on the device works in this process.
// Examples are an access to unallocated memory (CUDA_ERROR_ILLEGAL_ADDRESS), a trap in a kernel
// (CUDA_ERROR_LAUNCH_FAILED), and a memory failure (CUDA_ERROR_ECC_UNCORRECTABLE). Every later call
// that needs the device returns the same code, even in new contexts. The program can only close its
// objects and exit. A new process can use the device again.
//
// CUDA_ERROR_UNKNOWN does not match, because the driver also returns it for temporary failures. To
// distinguish these cases, use Context.Lost of package driver.
var ErrContextLost = errors.New("the CUDA context is lost")

// Is reports whether the code matches [ErrContextLost].
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
