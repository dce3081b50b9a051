package cu

// hint returns the usual cause of an error code and the remedy, or "" for an unknown code.
func (r CUresult) hint() string {
	switch r {
	case CUDA_SUCCESS:
		return "no error"
	case CUDA_ERROR_INVALID_VALUE:
		return "an argument is out of range, or a pointer is nil or belongs to another object"
	case CUDA_ERROR_OUT_OF_MEMORY:
		return "the device has too little free memory (or, for page-locked memory, the host)"
	case CUDA_ERROR_NOT_INITIALIZED:
		return "cuInit was not called or failed; use Open or Driver.Init first"
	case CUDA_ERROR_DEINITIALIZED:
		return "the process is ending and the driver has shut down"
	case CUDA_ERROR_PROFILER_DISABLED:
		return "a profiling tool already controls this process"
	case CUDA_ERROR_PROFILER_NOT_INITIALIZED, CUDA_ERROR_PROFILER_ALREADY_STARTED, CUDA_ERROR_PROFILER_ALREADY_STOPPED:
		return "only drivers before CUDA 5.0 return this code"
	case CUDA_ERROR_STUB_LIBRARY:
		return "the library is the CUDA toolkit's stub; remove its stubs folder from the library path so that the real driver is found"
	case CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER:
		return "the kernel driver is too old for this call; install a newer one"
	case CUDA_ERROR_DEVICE_UNAVAILABLE:
		return "another process uses the device exclusively, or the compute mode forbids use; nvidia-smi shows the compute mode"

	case CUDA_ERROR_NO_DEVICE:
		return "the driver finds no usable GPU"
	case CUDA_ERROR_INVALID_DEVICE:
		return "no device has this ordinal or handle, or the device does not support this call"
	case CUDA_ERROR_DEVICE_NOT_LICENSED:
		return "the virtual GPU has no licence"

	case CUDA_ERROR_INVALID_IMAGE:
		return "the module is not PTX, a cubin or a fat binary that this driver can read; PTX text must end in a zero byte"
	case CUDA_ERROR_INVALID_CONTEXT:
		return "no context is current on the thread, or the current context was destroyed; use a bound view of the driver"
	case CUDA_ERROR_CONTEXT_ALREADY_CURRENT:
		return "the context is already current"
	case CUDA_ERROR_MAP_FAILED:
		return "the driver could not map a resource"
	case CUDA_ERROR_UNMAP_FAILED:
		return "the driver could not unmap a resource"
	case CUDA_ERROR_ARRAY_IS_MAPPED:
		return "the array is mapped and cannot be destroyed"
	case CUDA_ERROR_ALREADY_MAPPED:
		return "the resource is already mapped"
	case CUDA_ERROR_NO_BINARY_FOR_GPU:
		return "the module contains code for other GPUs only, and no PTX; build it for this device's compute capability, or include PTX"
	case CUDA_ERROR_ALREADY_ACQUIRED:
		return "the resource is already acquired"
	case CUDA_ERROR_NOT_MAPPED, CUDA_ERROR_NOT_MAPPED_AS_ARRAY, CUDA_ERROR_NOT_MAPPED_AS_POINTER:
		return "the resource is not mapped, or is mapped as a different kind of resource"
	case CUDA_ERROR_ECC_UNCORRECTABLE:
		return "the GPU's memory had an error that ECC could not correct; " + lostHint + "; the GPU may need a reset"
	case CUDA_ERROR_UNSUPPORTED_LIMIT:
		return "the device has no such limit"
	case CUDA_ERROR_CONTEXT_ALREADY_IN_USE:
		return "the context is current on another thread, and can be current on only one thread"
	case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
		return "the two devices cannot access each other's memory"
	case CUDA_ERROR_INVALID_PTX:
		return "the PTX does not compile; the log names the line"
	case CUDA_ERROR_INVALID_GRAPHICS_CONTEXT:
		return "the OpenGL or Direct3D context is not valid"
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
		return "NVLink had an error that could not be corrected; " + lostHint
	case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
		return "the driver's PTX compiler library (libnvidia-ptxjitcompiler) is not installed"
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
		return "the PTX is newer than the driver; use a lower .version (an older toolkit), or install a newer driver"
	case CUDA_ERROR_JIT_COMPILATION_DISABLED:
		return "compiling PTX is disabled, for example by CUDA_DISABLE_PTX_JIT; provide a cubin"
	case CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY:
		return "the device cannot restrict a context to some of its multiprocessors"
	case CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC:
		return "the module calls cudaDeviceSynchronize on the device, which this device does not support"
	case CUDA_ERROR_CONTAINED:
		return "the device had an error and confined its effects; " + lostHint

	case CUDA_ERROR_INVALID_SOURCE:
		return "the device code cannot be compiled"
	case CUDA_ERROR_FILE_NOT_FOUND:
		return "there is no such file"
	case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
		return "the versions of the driver's libraries do not match; reinstall the driver"
	case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
		return "a library of the driver could not be initialized"
	case CUDA_ERROR_OPERATING_SYSTEM:
		return "a system call in the driver failed; check device permissions and limits (ulimit -l, shared memory)"

	case CUDA_ERROR_INVALID_HANDLE:
		return "a handle is zero, was destroyed, or belongs to another context"
	case CUDA_ERROR_ILLEGAL_STATE:
		return "the state of the object does not allow the call"
	case CUDA_ERROR_LOSSY_QUERY:
		return "the result contains more information than this form of the query can return; use the newer form"
	case CUDA_ERROR_NOT_FOUND:
		return "there is no object with this name; for a C++ kernel, use extern \"C\" or the mangled name"
	case CUDA_ERROR_NOT_READY:
		return "earlier work is not complete yet"

	case CUDA_ERROR_ILLEGAL_ADDRESS:
		return "a kernel or copy accessed an unmapped address; " + lostHint
	case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
		return "a block needs more registers, shared memory or threads than a multiprocessor has; use smaller blocks, or check the arguments' total size"
	case CUDA_ERROR_LAUNCH_TIMEOUT:
		return "the kernel ran longer than the display's watchdog allows; " + lostHint
	case CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING:
		return "the kernel's textures do not match this launch"
	case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
		return "peer access to that context is already enabled"
	case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
		return "peer access to that context is not enabled"
	case CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE:
		return "the primary context is already active, and its flags cannot change until it is released"
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return "the thread's context was destroyed"
	case CUDA_ERROR_ASSERT:
		return "an assert in a kernel failed; " + lostHint
	case CUDA_ERROR_TOO_MANY_PEERS:
		return "the maximum number of connections between these devices is reached"
	case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
		return "this host memory, or part of it, is already page-locked"
	case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
		return "this host memory was not registered as page-locked"
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
		return "a kernel's call stack is corrupt, usually because of deep recursion; " + lostHint
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
		return "a kernel executed an instruction that the device does not have; " + lostHint
	case CUDA_ERROR_MISALIGNED_ADDRESS:
		return "a kernel accessed an address that is not a multiple of the access size; " + lostHint
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
		return "a kernel used an address with an instruction for another address space (global, shared, local); " + lostHint
	case CUDA_ERROR_INVALID_PC:
		return "a kernel jumped to an address outside its code; " + lostHint
	case CUDA_ERROR_LAUNCH_FAILED:
		return "a kernel failed while it ran; " + lostHint + " (compute-sanitizer shows the location)"
	case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
		return "a cooperative launch needs all its blocks on the device at once; use fewer blocks (see the kernel's occupancy)"
	case CUDA_ERROR_TENSOR_MEMORY_LEAK:
		return "a kernel ended without freeing its tensor memory; " + lostHint

	case CUDA_ERROR_NOT_PERMITTED:
		return "the call is not allowed here, for example inside a host callback"
	case CUDA_ERROR_NOT_SUPPORTED:
		return "this device, driver or system does not support the call"
	case CUDA_ERROR_SYSTEM_NOT_READY:
		return "the system is still starting, or the NVLink fabric manager is not running"
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		return "libcuda and the kernel driver have different versions; reboot after a driver update, and in a container use the host's libcuda"
	case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
		return "the forward-compatibility libcuda works only on data center GPUs; remove it from the library path"
	case CUDA_ERROR_MPS_CONNECTION_FAILED:
		return "the MPS control daemon cannot be reached; start it, or unset CUDA_MPS_PIPE_DIRECTORY"
	case CUDA_ERROR_MPS_RPC_FAILURE:
		return "a call to the MPS server failed"
	case CUDA_ERROR_MPS_SERVER_NOT_READY:
		return "the MPS server is starting or recovering; try again"
	case CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:
		return "the MPS server has the maximum number of clients"
	case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED:
		return "the device has the maximum number of connections"
	case CUDA_ERROR_MPS_CLIENT_TERMINATED:
		return "the MPS server terminated this client; " + lostHint
	case CUDA_ERROR_CDP_NOT_SUPPORTED:
		return "the module launches kernels from kernels, which this device or mode does not support"
	case CUDA_ERROR_CDP_VERSION_MISMATCH:
		return "the module mixes two incompatible versions of dynamic parallelism; build all of it with one toolkit"

	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
		return "this call cannot be captured, and a stream capture is open; make the call before or after the capture, or on a stream outside the capture"
	case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
		return "an earlier call invalidated this stream capture; end it and look for the first error"
	case CUDA_ERROR_STREAM_CAPTURE_MERGE:
		return "the call would join two separate stream captures"
	case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
		return "the stream is not capturing, or the capture began on another stream"
	case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
		return "a stream that was forked into the capture was not joined; make the capture's first stream wait for an event on the forked stream before the end"
	case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
		return "a captured call would depend on work outside the capture"
	case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
		return "the legacy default stream would wait for a capturing stream; use streams that were created non-blocking"
	case CUDA_ERROR_CAPTURED_EVENT:
		return "the event was last recorded in a stream capture and is not valid outside it"
	case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
		return "a capture that is not relaxed must end on the thread that began it; lock the goroutine to its thread until the end"
	case CUDA_ERROR_TIMEOUT:
		return "the time limit was exceeded"
	case CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE:
		return "the graph differs from the instantiated graph in more than parameters; instantiate it again"
	case CUDA_ERROR_EXTERNAL_DEVICE:
		return "a device other than a GPU failed while it worked for this context; " + lostHint
	case CUDA_ERROR_INVALID_CLUSTER_SIZE:
		return "the cluster size is invalid for the device, the grid or the kernel"
	case CUDA_ERROR_FUNCTION_NOT_LOADED:
		return "the kernel is not loaded yet, and this call does not load it; use cuFuncLoad first"
	case CUDA_ERROR_INVALID_RESOURCE_TYPE, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION:
		return "the kind or number of the green context's resources is invalid"
	case CUDA_ERROR_KEY_ROTATION:
		return "the keys of confidential computing are being changed; " + lostHint
	case CUDA_ERROR_UNKNOWN:
		return "the driver reports no reason; look for NVRM or Xid lines in the kernel log (dmesg), and check the context with Context.Lost"
	}
	return ""
}

// initHint returns the remedy if the driver cannot be initialised. In that situation, some codes
// need different advice than usual.
func initHint(r CUresult) string {
	switch r {
	case CUDA_ERROR_NO_DEVICE:
		return "the driver is installed but sees no usable GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES, and in a container that the GPU was passed in (--gpus all)"
	case CUDA_ERROR_INVALID_DEVICE:
		return "a GPU is there but cannot be used; check CUDA_VISIBLE_DEVICES and, with MIG, that an instance exists"
	case CUDA_ERROR_OUT_OF_MEMORY:
		return "no memory to start with; other processes may hold the GPU (nvidia-smi), or a limit on address space (ulimit -v) is too low"
	case CUDA_ERROR_OPERATING_SYSTEM:
		return "the device files cannot be used; check that /dev/nvidia* exist and are readable, and that the kernel module is loaded"
	case CUDA_ERROR_UNKNOWN:
		return "the kernel module may not be loaded or not work (nvidia-smi, dmesg); after an update or a suspend, reload it or reboot"
	}
	return r.hint()
}
