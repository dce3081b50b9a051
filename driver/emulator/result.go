package emulator

import "github.com/purecuda/cuda/driver/cu"

// result is what every driver function returns.
type result = cu.CUresult

// Short names for the codes that are used often.
const (
	success            = cu.CUDA_SUCCESS
	errInvalidValue    = cu.CUDA_ERROR_INVALID_VALUE
	errOutOfMemory     = cu.CUDA_ERROR_OUT_OF_MEMORY
	errNotInitialized  = cu.CUDA_ERROR_NOT_INITIALIZED
	errDeinitialized   = cu.CUDA_ERROR_DEINITIALIZED
	errNoDevice        = cu.CUDA_ERROR_NO_DEVICE
	errInvalidDevice   = cu.CUDA_ERROR_INVALID_DEVICE
	errInvalidImage    = cu.CUDA_ERROR_INVALID_IMAGE
	errInvalidSource   = cu.CUDA_ERROR_INVALID_SOURCE
	errInvalidContext  = cu.CUDA_ERROR_INVALID_CONTEXT
	errInvalidHandle   = cu.CUDA_ERROR_INVALID_HANDLE
	errIllegalState    = cu.CUDA_ERROR_ILLEGAL_STATE
	errNotFound        = cu.CUDA_ERROR_NOT_FOUND
	errNotReady        = cu.CUDA_ERROR_NOT_READY
	errDestroyed       = cu.CUDA_ERROR_CONTEXT_IS_DESTROYED
	errNotPermitted    = cu.CUDA_ERROR_NOT_PERMITTED
	errNotSupported    = cu.CUDA_ERROR_NOT_SUPPORTED
	errUnsupported     = cu.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	errInvalidated     = cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
	errMerge           = cu.CUDA_ERROR_STREAM_CAPTURE_MERGE
	errUnmatched       = cu.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
	errUnjoined        = cu.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
	errIsolation       = cu.CUDA_ERROR_STREAM_CAPTURE_ISOLATION
	errImplicit        = cu.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
	errCapturedEvent   = cu.CUDA_ERROR_CAPTURED_EVENT
	errWrongThread     = cu.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
	errUpdateFailure   = cu.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
	errOutOfResources  = cu.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
	errLaunchFailed    = cu.CUDA_ERROR_LAUNCH_FAILED
	errCoopTooLarge    = cu.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
	errInvalidCluster  = cu.CUDA_ERROR_INVALID_CLUSTER_SIZE
	errUnsupportedLim  = cu.CUDA_ERROR_UNSUPPORTED_LIMIT
	errLossyQuery      = cu.CUDA_ERROR_LOSSY_QUERY
	errPeerUnsupported = cu.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
)
