/* Rows that wait for the device or query it, and those of the objects that come
 * and go: stream-ordered memory, modules. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

extern const char many_ptx[];
__asm__(".section .rodata\nmany_ptx: .incbin \"many.ptx.in\"\n.byte 0\n.previous");

enum { MANY = 100, ALLOC_BYTES = 1 << 16 };

static CUcontext context;
static CUfunction spin;
static CUstream stream, streams[CROWD];
static CUevent event;
static char *many;               /* the text of MANY kernels */
static char many_names[MANY][16];
static unsigned long long nanoseconds;
static void *arguments[] = {&nanoseconds};

/* many_text repeats the kernel of many.ptx.in, with numbers for '#'. */
static char *many_text(void) {
	size_t room = MANY * (strlen(many_ptx) + 64), at;
	char *text = malloc(room);
	at = sprintf(text, ".version 7.0\n.target sm_50\n.address_size 64\n");
	for (int k = 0; k < MANY; k++)
		for (const char *p = many_ptx; *p; p++)
			if (*p == '#')
				at += sprintf(text + at, "%d", k);
			else
				text[at++] = *p;
	text[at] = 0;
	return text;
}

void prepare_waits(CUcontext c, CUmodule module, CUdevice device) {
	CUmemPool pool;
	uint64_t keep = 64 << 20;
	context = c;
	CHECK(cuModuleGetFunction(&spin, module, "spin"));
	CHECK(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	for (int i = 0; i < CROWD; i++) CHECK(cuStreamCreate(&streams[i], STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&event, EVENT_DISABLE_TIMING));
	CHECK(cuEventRecord(event, stream));
	CHECK(cuDeviceGetMemPool(&pool, device));
	CHECK(cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &keep));
	many = many_text();
	for (int k = 0; k < MANY; k++) snprintf(many_names[k], sizeof many_names[k], "kernel%d", k);
}

static void launch_and_wait(CUstream s) {
	CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL));
	CHECK(cuStreamSynchronize(s));
}

static void run_wait(int n) {
	for (int i = 0; i < n; i++) launch_and_wait(stream);
}

static void take_10us(void) { nanoseconds = 10 * 1000; }
static void take_100us(void) { nanoseconds = 100 * 1000; }
static void take_1ms(void) { nanoseconds = 1000 * 1000; }

/* crowd runs each(thread, n / CROWD) on CROWD threads and returns when all of them
   are done. The threads are kept; each has the context current. */
static struct {
	pthread_barrier_t begin, end;
	int started;
	void (*each)(int thread, int n);
	int n;
} all;

static void *member(void *thread) {
	CHECK(cuCtxSetCurrent(context));
	for (;;) {
		pthread_barrier_wait(&all.begin);
		all.each((int)(intptr_t)thread, all.n);
		pthread_barrier_wait(&all.end);
	}
	return NULL;
}

static void crowd(void (*each)(int thread, int n), int n) {
	if (!all.started) {
		all.started = 1;
		pthread_barrier_init(&all.begin, NULL, CROWD + 1);
		pthread_barrier_init(&all.end, NULL, CROWD + 1);
		for (intptr_t i = 0; i < CROWD; i++) {
			pthread_t t;
			if (pthread_create(&t, NULL, member, (void *)i)) {
				fprintf(stderr, "bench: no thread\n");
				exit(1);
			}
		}
	}
	all.each = each;
	all.n = n / CROWD;
	pthread_barrier_wait(&all.begin);
	pthread_barrier_wait(&all.end);
}

static void wait_each(int thread, int n) {
	for (int i = 0; i < n; i++) launch_and_wait(streams[thread]);
}

static void run_wait_crowd(int n) { crowd(wait_each, n); }

static void settle(void) { CHECK(cuStreamSynchronize(stream)); }

static void run_event_query(int n) {
	for (int i = 0; i < n; i++) CHECK(cuEventQuery(event));
}

static void run_stream_query(int n) {
	for (int i = 0; i < n; i++) CHECK(cuStreamQuery(stream));
}

static void run_alloc(int n) {
	for (int i = 0; i < n; i++) {
		CUdeviceptr p;
		CHECK(cuMemAllocAsync(&p, ALLOC_BYTES, stream));
		CHECK(cuMemFreeAsync(p, stream));
	}
}

static void run_module(int n) {
	for (int i = 0; i < n; i++) {
		CUmodule m;
		CHECK(cuModuleLoadData(&m, many));
		for (int k = 0; k < MANY; k++) {
			CUfunction f;
			CHECK(cuModuleGetFunction(&f, m, many_names[k]));
		}
		CHECK(cuModuleUnload(m));
	}
}

static const struct row rows[] = {
	{"wait_100us", take_100us, run_wait, nothing},
	{"wait_1ms", take_1ms, run_wait, nothing},
	{"wait_100us_background", take_100us, run_wait, nothing},
	{"wait_crowd", take_10us, run_wait_crowd, nothing},
	{"wait_crowd_100us", take_100us, run_wait_crowd, nothing},
	{"event_query", settle, run_event_query, nothing},
	{"stream_query", settle, run_stream_query, nothing},
	{"alloc_async", settle, run_alloc, settle},
	{"alloc_async_slot", settle, run_alloc, settle},
	{"cache_hit", settle, run_alloc, settle},
	{"cache_hit_slot", settle, run_alloc, settle},
	{"module_100", nothing, run_module, nothing},
};

const struct row *find_wait(const char *name) {
	ROW_NAMED(rows, name);
	return NULL;
}
