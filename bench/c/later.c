/* A driver whose graphs take time, for trying the service without a GPU: each
 * launch of a graph takes LATER_US microseconds (200) of its stream. Streams run
 * side by side without an effect on each other, so what is measured is the host.
 * Copies are made at once and kernels do nothing: inputs must come back unchanged.
 * A thread that synchronizes sleeps if the context's flags say so. Otherwise it spins,
 * or yields its processor while it does. The rest is nothing.c. */
#define LATER
#include "nothing.c"

#include <sched.h>
#include <string.h>
#include <time.h>

enum { COPIES = 8 };

struct later_stream { _Atomic int64_t end; };
struct later_event { _Atomic int64_t end; };
struct later_copies {
	int n;
	struct { void *to; const void *from; size_t bytes; } copy[COPIES];
};

static struct later_copies recorded; /* of the capture; one at a time */

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t duration(void) {
	static _Atomic int64_t ns;
	if (!ns) {
		const char *us = getenv("LATER_US");
		ns = (us ? atoll(us) : 200) * 1000;
	}
	return ns;
}

static int copy(void *to, const void *from, size_t bytes) {
	if (!captures)
		memcpy(to, from, bytes);
	else if (recorded.n == COPIES)
		return 801; /* not supported */
	else {
		recorded.copy[recorded.n].to = to;
		recorded.copy[recorded.n].from = from;
		recorded.copy[recorded.n++].bytes = bytes;
	}
	return 0;
}

static unsigned flags;
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned f) { return (void)device, flags = f, 0; }
int cuCtxGetFlags(unsigned *f) { return *f = flags, 0; }

static int zeroed(handle *to, size_t bytes) { return *to = (handle)calloc(1, bytes), *to ? 0 : 2; }

int cuMemAlloc_v2(handle *to, size_t bytes) { return zeroed(to, bytes); }
int cuMemcpyHtoDAsync_v2(handle to, const void *from, size_t bytes) { return copy((void *)to, from, bytes); }
int cuMemcpyDtoHAsync_v2(void *to, handle from, size_t bytes) { return copy(to, (const void *)from, bytes); }

int cuStreamCreate(handle *to) { return zeroed(to, sizeof(struct later_stream)); }
int cuStreamCreateWithPriority(handle *to) { return cuStreamCreate(to); }
int cuEventCreate(handle *to) { return zeroed(to, sizeof(struct later_event)); }

int cuStreamBeginCapture_v2(void) { return captures = 1, captured = 0, recorded.n = 0, 0; }
int cuStreamEndCapture(handle stream, handle *graph) {
	struct later_copies *g = malloc(sizeof *g);
	(void)stream;
	*g = recorded;
	captures = 0;
	return *graph = (handle)g, 0;
}
int cuGraphInstantiateWithFlags(handle *exec, handle graph) { return *exec = graph, 0; }
int cuGraphInstantiateWithParams(handle *exec, handle graph) { return *exec = graph, 0; }

int cuGraphLaunch(handle exec, handle stream) {
	struct later_stream *s = (struct later_stream *)stream;
	struct later_copies *g = (struct later_copies *)exec;
	int64_t begin = now();
	for (int i = 0; i < g->n; i++) memcpy(g->copy[i].to, g->copy[i].from, g->copy[i].bytes);
	s->end = (s->end > begin ? s->end : begin) + duration();
	return 0;
}

static int query(int64_t end) { return now() < end ? 600 : 0; }

static int synchronize(int64_t end) {
	struct timespec t = {end / 1000000000, end % 1000000000};
	while (now() < end)
		if (flags == 4)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		else if (flags != 1)
			sched_yield();
	return 0;
}

int cuStreamQuery(handle s) { return query(((struct later_stream *)s)->end); }
int cuStreamSynchronize(handle s) { return synchronize(((struct later_stream *)s)->end); }
int cuEventRecord(handle e, handle s) {
	((struct later_event *)e)->end = ((struct later_stream *)s)->end;
	return 0;
}
int cuEventQuery(handle e) { return query(((struct later_event *)e)->end); }
int cuEventSynchronize(handle e) { return synchronize(((struct later_event *)e)->end); }
