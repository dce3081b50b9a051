package cu

import (
	"errors"

	"github.com/purecuda/cuda/internal/hint"
)

// lostHint ends the hints of codes that match ErrContextLost.
const lostHint = hint.ContextLost

// ErrContextLost is matched by the codes after which no context of the device works any more in
// this process. For example, a kernel accessed memory that is not its own
// (CUDA_ERROR_ILLEGAL_ADDRESS) or trapped (CUDA_ERROR_LAUNCH_FAILED), or the memory failed
// (CUDA_ERROR_ECC_UNCORRECTABLE). Every later call that needs the device returns the same code,
// in new contexts too. The program can only close what is open and exit. A new process can use
// the device again.
//
// CUDA_ERROR_UNKNOWN does not match, because the driver also returns it for temporary failures.
// To find out, use Context.Lost of package driver.
var ErrContextLost = errors.New("the CUDA context is lost")

// Is makes errors.Is match [ErrContextLost] for the codes that mean it.
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
