package driver

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// The aliases below are the parts of package cu that the API of package driver uses. Package cu has
// the rest of cuda.h.

// MinVersion is the oldest supported CUDA version: 11.4 (NVIDIA driver 470).
const MinVersion = cu.MinVersion

// SystemLibrary opens the library at path, or else what loader.OpenCUDA finds.
func SystemLibrary(path string) (loader.Library, error) { return cu.SystemLibrary(path) }

// Error is the failure of a driver function. It holds the function's name, the code, the usual
// cause, and the log from the driver's compiler or linker. errors.Is matches the code. %v prints
// one line, and %+v adds the log.
type Error = cu.Error

var (
	// ErrNotSupported matches CUDA_ERROR_NOT_SUPPORTED. It also matches the error for a function
	// that the driver does not have.
	ErrNotSupported = cu.ErrNotSupported
	// ErrDriverTooOld matches the error for a driver that is older than [MinVersion].
	ErrDriverTooOld = cu.ErrDriverTooOld
	// ErrClosed matches the error of a call on a closed object. A call on a nil or zero object
	// returns another error, which names the constructor and matches CUDA_ERROR_INVALID_VALUE.
	ErrClosed = cu.ErrClosed
	// ErrContextLost matches the codes after which no context of the device works in this process:
	// see [Context.Lost].
	ErrContextLost = cu.ErrContextLost
)

// The most common handle types. Package cu has the others.

type (
	// CUcontext is the handle of a context.
	CUcontext = cu.CUcontext
	// CUdeviceptr is a device address.
	CUdeviceptr = cu.CUdeviceptr
	// CUevent is the handle of an event.
	CUevent = cu.CUevent
	// CUgraph is the handle of a graph.
	CUgraph = cu.CUgraph
	// CUstream is the handle of a stream.
	CUstream = cu.CUstream
)

// CUresult is the result code of a driver function. It is an error, and errors.Is matches an
// [Error] with its code.
type CUresult = cu.CUresult

// The most common values of [CUresult]. Package cu has all values.
const (
	CUDA_SUCCESS                              = cu.CUDA_SUCCESS
	CUDA_ERROR_INVALID_VALUE                  = cu.CUDA_ERROR_INVALID_VALUE
	CUDA_ERROR_OUT_OF_MEMORY                  = cu.CUDA_ERROR_OUT_OF_MEMORY
	CUDA_ERROR_NOT_INITIALIZED                = cu.CUDA_ERROR_NOT_INITIALIZED
	CUDA_ERROR_DEINITIALIZED                  = cu.CUDA_ERROR_DEINITIALIZED
	CUDA_ERROR_DEVICE_UNAVAILABLE             = cu.CUDA_ERROR_DEVICE_UNAVAILABLE
	CUDA_ERROR_NO_DEVICE                      = cu.CUDA_ERROR_NO_DEVICE
	CUDA_ERROR_INVALID_DEVICE                 = cu.CUDA_ERROR_INVALID_DEVICE
	CUDA_ERROR_INVALID_CONTEXT                = cu.CUDA_ERROR_INVALID_CONTEXT
	CUDA_ERROR_NO_BINARY_FOR_GPU              = cu.CUDA_ERROR_NO_BINARY_FOR_GPU
	CUDA_ERROR_ECC_UNCORRECTABLE              = cu.CUDA_ERROR_ECC_UNCORRECTABLE
	CUDA_ERROR_INVALID_PTX                    = cu.CUDA_ERROR_INVALID_PTX
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION        = cu.CUDA_ERROR_UNSUPPORTED_PTX_VERSION
	CUDA_ERROR_INVALID_SOURCE                 = cu.CUDA_ERROR_INVALID_SOURCE
	CUDA_ERROR_INVALID_HANDLE                 = cu.CUDA_ERROR_INVALID_HANDLE
	CUDA_ERROR_ILLEGAL_STATE                  = cu.CUDA_ERROR_ILLEGAL_STATE
	CUDA_ERROR_NOT_FOUND                      = cu.CUDA_ERROR_NOT_FOUND
	CUDA_ERROR_NOT_READY                      = cu.CUDA_ERROR_NOT_READY
	CUDA_ERROR_ILLEGAL_ADDRESS                = cu.CUDA_ERROR_ILLEGAL_ADDRESS
	CUDA_ERROR_LAUNCH_TIMEOUT                 = cu.CUDA_ERROR_LAUNCH_TIMEOUT
	CUDA_ERROR_CONTEXT_IS_DESTROYED           = cu.CUDA_ERROR_CONTEXT_IS_DESTROYED
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = cu.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
	CUDA_ERROR_MISALIGNED_ADDRESS             = cu.CUDA_ERROR_MISALIGNED_ADDRESS
	CUDA_ERROR_LAUNCH_FAILED                  = cu.CUDA_ERROR_LAUNCH_FAILED
	CUDA_ERROR_NOT_PERMITTED                  = cu.CUDA_ERROR_NOT_PERMITTED
	CUDA_ERROR_NOT_SUPPORTED                  = cu.CUDA_ERROR_NOT_SUPPORTED
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED     = cu.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED     = cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
	CUDA_ERROR_STREAM_CAPTURE_MERGE           = cu.CUDA_ERROR_STREAM_CAPTURE_MERGE
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED       = cu.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
	CUDA_ERROR_STREAM_CAPTURE_UNJOINED        = cu.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
	CUDA_ERROR_STREAM_CAPTURE_ISOLATION       = cu.CUDA_ERROR_STREAM_CAPTURE_ISOLATION
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT        = cu.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
	CUDA_ERROR_CAPTURED_EVENT                 = cu.CUDA_ERROR_CAPTURED_EVENT
	CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD    = cu.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
	CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE      = cu.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
	CUDA_ERROR_UNKNOWN                        = cu.CUDA_ERROR_UNKNOWN
)
