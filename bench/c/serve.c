/* A service in C: many threads call, a few executable graphs serve. The reference
 * for package serve.
 *
 * A call copies 4 KiB to page-locked memory, launches a graph, waits with
 * cuStreamSynchronize, and copies 4 KiB back. The graph copies the words to the
 * device, adds one to each with every kernel, and copies them back.
 *
 *     workers   a bounded first-in-first-out queue, and a thread for each graph
 *     list      the calling thread takes a graph, or waits its turn for one
 *     before    as workers, but the copy to the device is not in the graph: it goes
 *               into the stream before each launch, as Callable does it
 *
 * It says "ready" with a description, then obeys standard input:
 *
 *     <how> <callers> <graphs> <milliseconds> <microseconds>
 *
 * and answers with the fields that print_result names. A caller works for the
 * microseconds between two calls. An argument "blocking",
 * "spin" or "yield" sets how the driver's waits use the processor. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "driver.h"

extern const char add_ptx[];
__asm__(".section .rodata\nadd_ptx: .incbin \"add.ptx\"\n.byte 0\n.previous");

enum { KERNELS = 160, WORDS = 1024, BYTES = 4 * WORDS, BLOCK = 256, QUEUE = 256, MOST_GRAPHS = 16, LATENCIES = 4 << 20 };
enum { WARM_UP_MS = 100 };

#define CHECK(call) check(call, #call)

static void check(CUresult result, const char *call) {
	if (result) {
		fprintf(stderr, "serve: %s: error %d\n", call, result);
		exit(1);
	}
}

static CUcontext context;
static CUfunction bump;
static unsigned added = KERNELS; /* to each word by a call */

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void sleep_until(int64_t at) {
	struct timespec t = {at / 1000000000, at % 1000000000};
	while (now() < at) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* A graph with what only it uses. */
struct replica {
	CUstream stream;
	CUgraphExec exec, later; /* with and without the copy to the device */
	CUdeviceptr words;
	uint32_t *in, *out; /* page-locked */
	struct replica *next;
};

static struct replica replicas[MOST_GRAPHS];
static int made;

static CUgraphExec capture(struct replica *r, int with_copy) {
	CUgraph g;
	CUgraphExec exec;
	unsigned n = WORDS;
	void *arguments[] = {&r->words, &n};
	CHECK(cuStreamBeginCapture(r->stream, CAPTURE_THREAD_LOCAL));
	if (with_copy) CHECK(cuMemcpyHtoDAsync(r->words, r->in, BYTES, r->stream));
	for (int i = 0; i < KERNELS; i++)
		CHECK(cuLaunchKernel(bump, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, r->stream, arguments, NULL));
	CHECK(cuMemcpyDtoHAsync(r->out, r->words, BYTES, r->stream));
	CHECK(cuStreamEndCapture(r->stream, &g));
	CHECK(cuGraphInstantiate(&exec, g, 0));
	CHECK(cuGraphDestroy(g));
	CHECK(cuGraphLaunch(exec, r->stream)); /* uploads it */
	CHECK(cuStreamSynchronize(r->stream));
	return exec;
}

static void make(struct replica *r) {
	CHECK(cuStreamCreate(&r->stream, STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&r->words, BYTES));
	CHECK(cuMemAllocHost((void **)&r->in, BYTES));
	CHECK(cuMemAllocHost((void **)&r->out, BYTES));
	r->exec = capture(r, 1);
	r->later = capture(r, 0);
}

static int copies_before; /* the launch, instead of in the graph */

static void run(struct replica *r, const uint32_t *in, uint32_t *out) {
	memcpy(r->in, in, BYTES);
	if (copies_before) CHECK(cuMemcpyHtoDAsync(r->words, r->in, BYTES, r->stream));
	CHECK(cuGraphLaunch(copies_before ? r->later : r->exec, r->stream));
	CHECK(cuStreamSynchronize(r->stream));
	memcpy(out, r->out, BYTES);
}

/* A call that waits, for its result or for a replica. Each has its own condition
 * variable, so that exactly one thread wakes. */
struct request {
	const uint32_t *in;
	uint32_t *out;
	struct replica *replica;
	struct request *next;
	int done;
	pthread_mutex_t mu;
	pthread_cond_t ended;
};

static void complete(struct request *r) {
	pthread_mutex_lock(&r->mu);
	r->done = 1;
	pthread_mutex_unlock(&r->mu);
	pthread_cond_signal(&r->ended); /* the woken thread need not wait for the mutex */
}

static void await(struct request *r) {
	pthread_mutex_lock(&r->mu);
	while (!r->done) pthread_cond_wait(&r->ended, &r->mu);
	r->done = 0;
	pthread_mutex_unlock(&r->mu);
}

/* workers */

static struct {
	pthread_mutex_t mu;
	pthread_cond_t filled, emptied;
	struct request *ring[QUEUE];
	int first, n, closed;
} queue = {.mu = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .emptied = PTHREAD_COND_INITIALIZER};

static void call_worker(struct request *r) {
	pthread_mutex_lock(&queue.mu);
	while (queue.n == QUEUE) pthread_cond_wait(&queue.emptied, &queue.mu);
	queue.ring[(queue.first + queue.n++) % QUEUE] = r;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.mu);
	await(r);
}

static void *work(void *replica) {
	CHECK(cuCtxSetCurrent(context));
	for (;;) {
		pthread_mutex_lock(&queue.mu);
		while (!queue.n && !queue.closed) pthread_cond_wait(&queue.filled, &queue.mu);
		if (!queue.n) {
			pthread_mutex_unlock(&queue.mu);
			return NULL;
		}
		struct request *r = queue.ring[queue.first];
		queue.first = (queue.first + 1) % QUEUE;
		queue.n--;
		pthread_cond_signal(&queue.emptied);
		pthread_mutex_unlock(&queue.mu);
		run(replica, r->in, r->out);
		complete(r);
	}
}

/* list */

static struct {
	pthread_mutex_t mu;
	struct replica *idle;
	struct request *first, *last;
} list = {.mu = PTHREAD_MUTEX_INITIALIZER};

static void give(struct replica *replica) {
	pthread_mutex_lock(&list.mu);
	struct request *r = list.first;
	if (r)
		list.first = r->next;
	else {
		replica->next = list.idle;
		list.idle = replica;
	}
	pthread_mutex_unlock(&list.mu);
	if (r) {
		r->replica = replica;
		complete(r);
	}
}

static void call_list(struct request *r) {
	pthread_mutex_lock(&list.mu);
	struct replica *replica = list.idle;
	if (replica)
		list.idle = replica->next;
	else {
		r->next = NULL;
		if (list.first)
			list.last->next = r;
		else
			list.first = r;
		list.last = r;
	}
	pthread_mutex_unlock(&list.mu);
	if (!replica) {
		await(r);
		replica = r->replica;
	}
	run(replica, r->in, r->out);
	give(replica);
}

/* measurement */

struct caller {
	struct request request;
	uint32_t in[WORDS], out[WORDS];
	uint32_t *latencies; /* ns */
	long calls, wrong, slots;
};

static void (*call)(struct request *);
static int64_t begin, end, between; /* ns of work between two calls */
static pthread_barrier_t started;

static int right(const struct caller *c) {
	for (int i = 0; i < WORDS; i++)
		if (c->out[i] != c->in[i] + added) return 0;
	return 1;
}

static void *caller(void *self) {
	struct caller *c = self;
	CHECK(cuCtxSetCurrent(context));
	call(&c->request);
	c->wrong += !right(c);
	pthread_barrier_wait(&started);
	for (;;) {
		c->in[0]++; /* another input in each call */
		int64_t t = now();
		call(&c->request);
		int64_t ended = now();
		c->wrong += c->out[0] != c->in[0] + added;
		for (int64_t until = ended + between; now() < until;) {
		}
		if (ended > end) break;
		if (ended < begin) continue;
		c->latencies[c->calls++ % c->slots] = ended - t < UINT32_MAX ? ended - t : UINT32_MAX;
	}
	c->wrong += !right(c);
	return NULL;
}

static double cpu(void) {
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int threads(void) {
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	if (!d) return 0;
	for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void start(pthread_t *t, void *(*f)(void *), void *argument) {
	if (pthread_create(t, NULL, f, argument)) {
		fprintf(stderr, "serve: no thread\n");
		exit(1);
	}
}

static int ascending(const void *a, const void *b) {
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static uint32_t latencies[LATENCIES], all[LATENCIES];

/* calls, seconds, p50, p99 and p99.9 in ns, processor seconds, allocations (not
 * counted in C), threads, wrong results. */
static void print_result(const struct caller *callers, int n, double seconds, double processor, int threads) {
	long calls = 0, wrong = 0, kept = 0;
	for (int i = 0; i < n; i++) {
		const struct caller *c = &callers[i];
		long k = c->calls < c->slots ? c->calls : c->slots;
		calls += c->calls;
		wrong += c->wrong;
		memcpy(all + kept, c->latencies, k * sizeof *all);
		kept += k;
	}
	qsort(all, kept, sizeof *all, ascending);
#define QUANTILE(q) (kept ? all[(long)((q) * (kept - 1))] : 0)
	printf("%ld %.6f %u %u %u %.6f 0 %d %ld\n", calls, seconds, QUANTILE(0.5), QUANTILE(0.99), QUANTILE(0.999), processor, threads, wrong);
	fflush(stdout);
}

static void measure(const char *how, int n, int graphs, int ms) {
	int with_workers = strcmp(how, "list") != 0;
	struct caller *callers = calloc(n, sizeof *callers);
	pthread_t threads_of[n], workers[graphs];
	while (made < graphs) make(&replicas[made++]);
	copies_before = !strcmp(how, "before");
	call = with_workers ? call_worker : call_list;
	queue.closed = 0;
	list.idle = NULL;
	for (int i = 0; i < graphs; i++)
		if (with_workers)
			start(&workers[i], work, &replicas[i]);
		else
			give(&replicas[i]);
	pthread_barrier_init(&started, NULL, n + 1);
	begin = end = INT64_MAX;
	for (int i = 0; i < n; i++) {
		struct caller *c = &callers[i];
		pthread_mutex_init(&c->request.mu, NULL);
		pthread_cond_init(&c->request.ended, NULL);
		c->request.in = c->in;
		c->request.out = c->out;
		c->slots = LATENCIES / n;
		c->latencies = latencies + i * c->slots;
		for (int k = 0; k < WORDS; k++) c->in[k] = i * WORDS + k;
		start(&threads_of[i], caller, c);
	}
	begin = now() + WARM_UP_MS * INT64_C(1000000);
	end = begin + ms * INT64_C(1000000);
	pthread_barrier_wait(&started);
	sleep_until(begin);
	double used = cpu();
	int64_t from = now();
	sleep_until(end);
	double seconds = ms / 1e3;
	used = (cpu() - used) / ((now() - from) / 1e9) * seconds; /* this thread may have woken late */
	int alive = threads();
	for (int i = 0; i < n; i++) pthread_join(threads_of[i], NULL);
	pthread_mutex_lock(&queue.mu);
	queue.closed = 1;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.mu);
	for (int i = 0; with_workers && i < graphs; i++) pthread_join(workers[i], NULL);
	pthread_barrier_destroy(&started);
	print_result(callers, n, seconds, used, alive);
	free(callers);
}

static void prepare(const char *waits) {
	CUdevice device;
	CUmodule module;
	char name[128] = "";
	int version;
	unsigned flags = !strcmp(waits, "spin") ? 1 : !strcmp(waits, "yield") ? 2 : !strcmp(waits, "blocking") ? 4 : 0;
	open_driver();
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxSetFlags(device, flags));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, add_ptx));
	CHECK(cuModuleGetFunction(&bump, module, "bump"));
	CHECK(cuDriverGetVersion(&version));
	cuDeviceGetName(name, sizeof name, device);
	if (!strcmp(name, "a driver that does nothing")) added = 0;
	printf("ready C, cuStreamSynchronize, context flags %s, %s, driver %d.%d\n", waits, name, version / 1000, version % 1000 / 10);
	fflush(stdout);
}

int main(int argc, char **argv) {
	char how[16];
	int callers, graphs, ms, us;
	prepare(argc > 2 ? argv[2] : "auto");
	while (scanf("%15s %d %d %d %d", how, &callers, &graphs, &ms, &us) == 5) {
		if (callers < 1 || graphs < 1 || graphs > MOST_GRAPHS || ms < 1) return 2;
		between = us * INT64_C(1000);
		measure(how, callers, graphs, ms);
	}
	return 0;
}
