/* A driver that does nothing: libcuda.so.1 whose functions return at once, with
 * handles and answers that look right. What a row costs with it is what the
 * caller spends by itself, with the driver's own time taken away:
 *
 *     LD_LIBRARY_PATH=FOLDER/nothing FOLDER/compare -rows ...
 *
 * What is not defined here is answered by success.
 *
 * later.c includes this file, with LATER defined, and has its own form of the
 * functions left out then: streams that take time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uintptr_t handle;

static _Atomic handle made = 1 << 20;
static _Thread_local handle current;
static handle primary;
static int captures;          /* the one stream that captures, if any does */
static size_t captured = 1000; /* nodes of the latest capture */

static int make(handle *to) {
	*to = made += 256;
	return 0;
}

#define MAKES(name) \
	int name(handle *to) { return make(to); }
MAKES(cuModuleLoadData)
MAKES(cuModuleLoadDataEx)
MAKES(cuModuleGetFunction)
MAKES(cuGraphCreate)
MAKES(cuGraphAddKernelNode_v2)
MAKES(cuGraphAddNode_v2)
#ifndef LATER
MAKES(cuStreamCreate)
MAKES(cuStreamCreateWithPriority)
MAKES(cuEventCreate)
MAKES(cuGraphInstantiateWithFlags)
MAKES(cuGraphInstantiateWithParams)
#endif

#define SUCCEEDS(name) \
	int name(void) { return 0; }
SUCCEEDS(cuInit)
SUCCEEDS(cuModuleUnload)
SUCCEEDS(cuMemFreeAsync)
SUCCEEDS(cuMemPoolSetAttribute)
SUCCEEDS(cuMemsetD32_v2)
SUCCEEDS(cuMemsetD32Async)
SUCCEEDS(cuGraphDestroy)
SUCCEEDS(cuGraphExecDestroy)
SUCCEEDS(cuGraphExecKernelNodeSetParams_v2)
#ifndef LATER
SUCCEEDS(cuDevicePrimaryCtxSetFlags_v2)
SUCCEEDS(cuMemcpyHtoDAsync_v2)
SUCCEEDS(cuMemcpyDtoHAsync_v2)
SUCCEEDS(cuStreamSynchronize)
SUCCEEDS(cuStreamQuery)
SUCCEEDS(cuEventQuery)
SUCCEEDS(cuEventSynchronize)
SUCCEEDS(cuEventRecord)
SUCCEEDS(cuGraphLaunch)
#endif

int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *device, int i) { return *device = i, 0; }
int cuDeviceTotalMem_v2(size_t *bytes) { return *bytes = (size_t)1 << 36, 0; }

int cuDeviceGetName(char *name, int n) {
	snprintf(name, n, "a driver that does nothing");
	return 0;
}

/* The attributes that the library reads: those of a device of today, the others 1. */
int cuDeviceGetAttribute(int *value, int attribute) {
	static const int known[][2] = {
		{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, /* threads of a block, by dimension */
		{5, 2147483647}, {6, 65535}, {7, 65535}, /* blocks of a grid */
		{8, 49152}, {81, 232448}, {97, 232448}, /* shared memory */
		{10, 32}, {16, 132}, {75, 9}, {76, 0}, /* warp, processors, compute capability */
	};
	*value = 1;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i][0] == attribute) *value = known[i][1];
	return 0;
}

int cuDevicePrimaryCtxRetain(handle *context) {
	if (!primary) make(&primary);
	return *context = primary, 0;
}
int cuCtxGetCurrent(handle *context) { return *context = current, 0; }
int cuCtxSetCurrent(handle context) { return current = context, 0; }
int cuCtxGetId(handle context, uint64_t *id) { return (void)context, *id = 1, 0; }
int cuStreamGetCtx(handle stream, handle *context) { return (void)stream, cuDevicePrimaryCtxRetain(context); }
int cuStreamGetId(handle stream, uint64_t *id) { return *id = stream, 0; }

int cuFuncGetAttribute(int *value, int attribute) { return *value = attribute ? 0 : 1024, 0; }
int cuFuncGetParamInfo(void) { return 1; } /* of none: the text has them */

#ifndef LATER
int cuMemAlloc_v2(handle *to, size_t bytes) {
	*to = made += 256 + bytes;
	return 0;
}
#endif
/* As from a pool: the memory that was freed last. */
int cuMemAllocAsync(handle *to) { return *to = (handle)1 << 34, 0; }
int cuMemAllocFromPoolAsync(handle *to) { return cuMemAllocAsync(to); }
int cuDeviceGetMemPool(handle *pool) { return *pool = 1 << 16, 0; }
int cuMemHostAlloc(void **to, size_t bytes) { return *to = calloc(1, bytes), 0; }
int cuMemAllocHost_v2(void **to, size_t bytes) { return cuMemHostAlloc(to, bytes); }
int cuMemHostGetDevicePointer_v2(handle *to, void *host) { return *to = (handle)host, 0; }

/* What the callers' first kernel would have left. */
int cuMemcpyDtoH_v2(uint32_t *to, handle from, size_t bytes) {
	(void)from;
	for (size_t i = 0; i < bytes / sizeof *to; i++) to[i] = 42;
	return 0;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
	static _Thread_local int now;
	int was = now;
	now = *mode;
	return *mode = was, 0;
}

int cuStreamIsCapturing(handle stream, int *status) { return (void)stream, *status = captures, 0; }
#ifndef LATER
int cuStreamBeginCapture_v2(void) { return captures = 1, captured = 0, 0; }
int cuStreamEndCapture(handle stream, handle *graph) { return (void)stream, captures = 0, make(graph); }
#endif
int cuLaunchKernel(void) { return captured += captures, 0; }
int cuLaunchKernelEx(void) { return cuLaunchKernel(); }

static int captureInfo(int *status, uint64_t *id, handle *graph) {
	*status = captures;
	if (id) *id = 1;
	if (graph) *graph = 1 << 17;
	return 0;
}
int cuStreamGetCaptureInfo_v2(handle s, int *status, uint64_t *id, handle *graph, void **deps, size_t *n) {
	(void)s;
	if (deps) *deps = NULL;
	if (n) *n = 0;
	return captureInfo(status, id, graph);
}
int cuStreamGetCaptureInfo_v3(handle s, int *status, uint64_t *id, handle *graph, void **deps, void **data, size_t *n) {
	if (data) *data = NULL;
	return cuStreamGetCaptureInfo_v2(s, status, id, graph, deps, n);
}

int cuGraphGetNodes(handle graph, handle *nodes, size_t *n) {
	for (size_t i = 0; nodes && i < *n; i++) nodes[i] = graph + 16 * (i + 1);
	if (!nodes || *n > captured) *n = captured;
	return 0;
}

int cuGraphExecUpdate_v2(handle exec, handle graph, int *result) { return (void)exec, (void)graph, *result = 0, 0; }

static int nothing(void) { return 0; }

int cuGetProcAddress_v2(const char *name, void **to, int version, uint64_t flags, int *found) {
	static const char *const forms[] = {"_v3", "_v2", ""};
	char symbol[128];
	Dl_info self;
	(void)version, (void)flags;
	*to = NULL;
	void *library = dladdr((void *)(uintptr_t)cuInit, &self) ? dlopen(self.dli_fname, RTLD_NOW) : NULL;
	for (size_t i = 0; library && !*to && i < sizeof forms / sizeof *forms; i++) {
		snprintf(symbol, sizeof symbol, "%s%s", name, forms[i]);
		*to = dlsym(library, symbol);
	}
	if (library) dlclose(library);
	if (!*to) *to = (void *)(uintptr_t)nothing;
	if (found) *found = 0;
	return 0;
}
