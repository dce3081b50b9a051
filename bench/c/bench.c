/* The benchmark's reference: what a C program pays for the driver calls that
 * the library's typed layer makes.
 *
 * It is commanded over standard input, see rows.h. With the argument "first" it
 * runs one kernel, checks its result, says "first" and ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "parts.h"

/* The kernel of all callers, bench/internal/child/add.ptx; its folder is given
 * to the assembler with -Wa,-I. */
extern const char add_ptx[];
__asm__(".section .rodata\nadd_ptx: .incbin \"add.ptx\"\n.byte 0\n.previous");

enum { COPY_BYTES = 4096 };

static CUdevice device;
static CUcontext context;
static CUmodule module;
static CUfunction add, step;
static CUstream stream;
static CUdeviceptr counter, target;
static void *host;
static CUevent event, timed_event;
static CUgraphExec one, thousand;
static CUgraphNode nodes[CHAIN];
static CUgraph graph; /* the one that a sample builds */
static void *arguments[] = {&counter};
static kernel_node_params params;

/* The graph whose parameters change: its kernels add amount to the counter. */
static CUgraphExec steps;
static CUgraphNode step_nodes[CHAIN];
static unsigned amount;
static void *step_arguments[] = {&counter, &amount};
static kernel_node_params step_params;

static void add_chain(CUgraph g, int n) {
	CUgraphNode *previous = NULL;
	for (int i = 0; i < n; i++) {
		CHECK(cuGraphAddKernelNode(&nodes[i], g, previous, previous != NULL, &params));
		previous = &nodes[i];
	}
}

static CUgraphExec chain(int n) {
	CUgraph g;
	CUgraphExec exec;
	CHECK(cuGraphCreate(&g, 0));
	add_chain(g, n);
	CHECK(cuGraphInstantiate(&exec, g, 0));
	return exec; /* the graph stays: its nodes name those of the exec */
}

/* What a program does that captures its step anew each time. */
static CUgraph capture_steps(void) {
	CUgraph g;
	CHECK(cuStreamBeginCapture(stream, CAPTURE_THREAD_LOCAL));
	for (int i = 0; i < CHAIN; i++) {
		amount++;
		CHECK(cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, stream, step_arguments, NULL));
	}
	CHECK(cuStreamEndCapture(stream, &g));
	return g;
}

static void update(CUgraphExec exec, CUgraph g) {
	update_result_info info;
	CHECK(cuGraphExecUpdate(exec, g, &info));
}

static void prepare_steps(void) {
	size_t n = CHAIN;
	CUgraph g = capture_steps();
	CHECK(cuGraphGetNodes(g, step_nodes, &n));
	CHECK(cuGraphInstantiate(&steps, g, 0)); /* the graph stays: it has the exec's nodes */
	step_params = (kernel_node_params){step, 1, 1, 1, 1, 1, 1, 0, step_arguments, NULL, NULL, NULL};
}

static void start(void) {
	open_driver();
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, add_ptx));
	CHECK(cuModuleGetFunction(&add, module, "add"));
	CHECK(cuModuleGetFunction(&step, module, "step"));
	CHECK(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&counter, 4));
	CHECK(cuMemsetD32(counter, 41, 1));
}

static void first(void) {
	unsigned value = 0;
	start();
	CHECK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemcpyDtoH(&value, counter, 4));
	if (value != 42) {
		fprintf(stderr, "bench: the kernel gave %u, not 42\n", value);
		exit(1);
	}
	puts("first");
	fflush(stdout);
	exit(0);
}

static void prepare(void) {
	start();
	CHECK(cuMemAlloc(&target, COPY_BYTES));
	CHECK(cuMemAllocHost(&host, COPY_BYTES));
	memset(host, 1, COPY_BYTES);
	CHECK(cuEventCreate(&timed_event, 0));
	CHECK(cuEventCreate(&event, EVENT_DISABLE_TIMING));
	params = (kernel_node_params){add, 1, 1, 1, 1, 1, 1, 0, arguments, NULL, NULL, NULL};
	one = chain(1);
	thousand = chain(CHAIN);
	prepare_steps();
	prepare_waits(context, module, device);
}

static void settle(void) { CHECK(cuStreamSynchronize(stream)); }
static void new_graph(void) { CHECK(cuGraphCreate(&graph, 0)); }
static void drop_graph(void) { CHECK(cuGraphDestroy(graph)); }

/* Parameters are set between launches, so each sample follows one. */
static void replay(void) {
	CHECK(cuGraphLaunch(thousand, stream));
	settle();
}

static void run_get_current(int n) {
	CUcontext current;
	for (int i = 0; i < n; i++) CHECK(cuCtxGetCurrent(&current));
}

static CUgraphNode fresh[CHAIN];

static void run_node_add(int n) {
	for (int i = 0; i < n; i++)
		CHECK(cuGraphAddKernelNode(&fresh[i], graph, i ? &fresh[i - 1] : NULL, i != 0, &params));
}

static void run_node_update(int n) {
	for (int i = 0; i < n; i++) CHECK(cuGraphExecKernelNodeSetParams(thousand, nodes[i % CHAIN], &params));
}

static void run_launch(int n) {
	for (int i = 0; i < n; i++) CHECK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static void run_launch_step(int n) {
	for (int i = 0; i < n; i++) {
		amount++;
		CHECK(cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, stream, step_arguments, NULL));
	}
}

static void run_graph_launch_1(int n) {
	for (int i = 0; i < n; i++) CHECK(cuGraphLaunch(one, stream));
}

static void run_graph_launch_1000(int n) {
	for (int i = 0; i < n; i++) CHECK(cuGraphLaunch(thousand, stream));
}

static void run_recapture(int n) {
	for (int i = 0; i < n; i++) {
		CUgraph g = capture_steps();
		update(steps, g);
		CHECK(cuGraphDestroy(g));
	}
}

/* Ten nodes, a hundred apart, get another number; then the graph is launched. */
static void run_set_10(int n) {
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < CHAIN; k += CHAIN / 10) {
			amount++;
			CHECK(cuGraphExecKernelNodeSetParams(steps, step_nodes[k], &step_params));
		}
		CHECK(cuGraphLaunch(steps, stream));
	}
}

static void run_scalar_set(int n) {
	for (int i = 0; i < n; i++) CHECK(cuMemsetD32Async(counter, ++amount, 1, stream));
}

static void run_event_record(int n) {
	for (int i = 0; i < n; i++) CHECK(cuEventRecord(event, stream));
}

static void run_event_record_timing(int n) {
	for (int i = 0; i < n; i++) CHECK(cuEventRecord(timed_event, stream));
}

static void run_copy(int n) {
	for (int i = 0; i < n; i++) CHECK(cuMemcpyHtoDAsync(target, host, COPY_BYTES, stream));
}

static const char *const names[] = {
#include "names.inc"
};

static void run_table(int n) {
	int version;
	CHECK(cuDriverGetVersion(&version));
	for (int i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			void *address;
			int status;
			cuGetProcAddress(names[k], &address, version, 0, &status); /* not there: an answer, not an error */
		}
}

#include "graphs.inc"

static const struct row rows[] = {
	GRAPH_ROWS
	{"ctx_get_current", nothing, run_get_current, nothing},
	{"node_add", new_graph, run_node_add, drop_graph},
	{"node_add_batch", new_graph, run_node_add, drop_graph},
	{"node_add_chain", new_graph, run_node_add, drop_graph},
	{"node_update", replay, run_node_update, nothing},
	{"node_update_batch", replay, run_node_update, nothing},
	{"launch", nothing, run_launch, settle},
	{"launch_step", nothing, run_launch_step, settle},
	{"launch_step_args", nothing, run_launch_step, settle},
	{"graph_launch_1", nothing, run_graph_launch_1, settle},
	{"graph_launch_1000", nothing, run_graph_launch_1000, settle},
	{"recapture", settle, run_recapture, nothing},
	{"recapture_burst", settle, run_recapture, nothing},
	{"recapture_all", settle, run_recapture, nothing},
	{"set_10", settle, run_set_10, settle},
	{"set_10_batch", settle, run_set_10, settle},
	{"set_10_each", settle, run_set_10, settle},
	{"scalar_set", nothing, run_scalar_set, settle},
	{"event_record", nothing, run_event_record, settle},
	{"event_record_timing", nothing, run_event_record_timing, settle},
	{"copy_4k", nothing, run_copy, settle},
	{"table", nothing, run_table, nothing},
};

static const struct row *find(const char *name) {
	ROW_NAMED(rows, name);
	return find_wait(name);
}

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "first")) first();
	prepare();
	return serve(find);
}
