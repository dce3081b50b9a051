/* The part of the CUDA driver's ABI that the benchmark calls, resolved with
 * dlopen as our own library does: neither the toolkit nor its header is needed. */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmemPool_st *CUmemPool;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

typedef struct {
	int result;
	CUgraphNode errorNode, errorFromNode;
} update_result_info; /* CUgraphExecUpdateResultInfo_v1 */

typedef struct {
	CUfunction func;
	unsigned gridDimX, gridDimY, gridDimZ;
	unsigned blockDimX, blockDimY, blockDimZ;
	unsigned sharedMemBytes;
	void **kernelParams;
	void **extra;
	void *kern;
	CUcontext ctx;
} kernel_node_params; /* CUDA_KERNEL_NODE_PARAMS_v2 */

enum { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2, CAPTURE_THREAD_LOCAL = 1, POOL_RELEASE_THRESHOLD = 4 };

/* name, symbol, prototype */
#define DRIVER_FUNCTIONS(F) \
	F(cuInit, "cuInit", (unsigned)) \
	F(cuDriverGetVersion, "cuDriverGetVersion", (int *)) \
	F(cuDeviceGet, "cuDeviceGet", (CUdevice *, int)) \
	F(cuDeviceGetName, "cuDeviceGetName", (char *, int, CUdevice)) \
	F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice)) \
	F(cuDevicePrimaryCtxSetFlags, "cuDevicePrimaryCtxSetFlags_v2", (CUdevice, unsigned)) \
	F(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext)) \
	F(cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext *)) \
	F(cuModuleLoadData, "cuModuleLoadData", (CUmodule *, const void *)) \
	F(cuModuleUnload, "cuModuleUnload", (CUmodule)) \
	F(cuModuleGetFunction, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *)) \
	F(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t)) \
	F(cuMemAllocAsync, "cuMemAllocAsync", (CUdeviceptr *, size_t, CUstream)) \
	F(cuMemFreeAsync, "cuMemFreeAsync", (CUdeviceptr, CUstream)) \
	F(cuDeviceGetMemPool, "cuDeviceGetMemPool", (CUmemPool *, CUdevice)) \
	F(cuMemPoolSetAttribute, "cuMemPoolSetAttribute", (CUmemPool, int, void *)) \
	F(cuMemAllocHost, "cuMemAllocHost_v2", (void **, size_t)) \
	F(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t)) \
	F(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream)) \
	F(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream)) \
	F(cuMemsetD32, "cuMemsetD32_v2", (CUdeviceptr, unsigned, size_t)) \
	F(cuMemsetD32Async, "cuMemsetD32Async", (CUdeviceptr, unsigned, size_t, CUstream)) \
	F(cuStreamCreate, "cuStreamCreate", (CUstream *, unsigned)) \
	F(cuStreamSynchronize, "cuStreamSynchronize", (CUstream)) \
	F(cuStreamQuery, "cuStreamQuery", (CUstream)) \
	F(cuEventQuery, "cuEventQuery", (CUevent)) \
	F(cuEventSynchronize, "cuEventSynchronize", (CUevent)) \
	F(cuEventCreate, "cuEventCreate", (CUevent *, unsigned)) \
	F(cuEventRecord, "cuEventRecord", (CUevent, CUstream)) \
	F(cuLaunchKernel, "cuLaunchKernel", (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **)) \
	F(cuGraphCreate, "cuGraphCreate", (CUgraph *, unsigned)) \
	F(cuGraphDestroy, "cuGraphDestroy", (CUgraph)) \
	F(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2", (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const kernel_node_params *)) \
	F(cuGraphInstantiate, "cuGraphInstantiateWithFlags", (CUgraphExec *, CUgraph, unsigned long long)) \
	F(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec)) \
	F(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2", (CUgraphExec, CUgraphNode, const kernel_node_params *)) \
	F(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int)) \
	F(cuStreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph *)) \
	F(cuGraphGetNodes, "cuGraphGetNodes", (CUgraph, CUgraphNode *, size_t *)) \
	F(cuGraphExecUpdate, "cuGraphExecUpdate_v2", (CUgraphExec, CUgraph, update_result_info *)) \
	F(cuGraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream)) \
	F(cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec)) \
	F(cuGetProcAddress, "cuGetProcAddress_v2", (const char *, void **, int, uint64_t, int *))

#define DECLARE(name, symbol, prototype) extern CUresult(*name) prototype;
DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE

/* open_driver resolves the functions above, or says why not and exits. */
void open_driver(void);

#endif
