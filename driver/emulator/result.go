package emulator

import "github.com/purecuda/cuda/driver"

// result is what every driver function returns.
type result = driver.CUresult

// Short names for the codes that are used often.
const (
	success            = driver.CUDA_SUCCESS
	errInvalidValue    = driver.CUDA_ERROR_INVALID_VALUE
	errOutOfMemory     = driver.CUDA_ERROR_OUT_OF_MEMORY
	errNotInitialized  = driver.CUDA_ERROR_NOT_INITIALIZED
	errDeinitialized   = driver.CUDA_ERROR_DEINITIALIZED
	errNoDevice        = driver.CUDA_ERROR_NO_DEVICE
	errInvalidDevice   = driver.CUDA_ERROR_INVALID_DEVICE
	errInvalidImage    = driver.CUDA_ERROR_INVALID_IMAGE
	errInvalidSource   = driver.CUDA_ERROR_INVALID_SOURCE
	errInvalidContext  = driver.CUDA_ERROR_INVALID_CONTEXT
	errInvalidHandle   = driver.CUDA_ERROR_INVALID_HANDLE
	errIllegalState    = driver.CUDA_ERROR_ILLEGAL_STATE
	errNotFound        = driver.CUDA_ERROR_NOT_FOUND
	errNotReady        = driver.CUDA_ERROR_NOT_READY
	errDestroyed       = driver.CUDA_ERROR_CONTEXT_IS_DESTROYED
	errNotPermitted    = driver.CUDA_ERROR_NOT_PERMITTED
	errNotSupported    = driver.CUDA_ERROR_NOT_SUPPORTED
	errUnsupported     = driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	errInvalidated     = driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
	errMerge           = driver.CUDA_ERROR_STREAM_CAPTURE_MERGE
	errUnmatched       = driver.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
	errUnjoined        = driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
	errIsolation       = driver.CUDA_ERROR_STREAM_CAPTURE_ISOLATION
	errImplicit        = driver.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
	errCapturedEvent   = driver.CUDA_ERROR_CAPTURED_EVENT
	errWrongThread     = driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
	errUpdateFailure   = driver.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
	errOutOfResources  = driver.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
	errLaunchFailed    = driver.CUDA_ERROR_LAUNCH_FAILED
	errCoopTooLarge    = driver.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
	errInvalidCluster  = driver.CUDA_ERROR_INVALID_CLUSTER_SIZE
	errUnsupportedLim  = driver.CUDA_ERROR_UNSUPPORTED_LIMIT
	errLossyQuery      = driver.CUDA_ERROR_LOSSY_QUERY
	errPeerUnsupported = driver.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
)
