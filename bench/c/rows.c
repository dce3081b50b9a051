#define _GNU_SOURCE
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WARM_UP = 4 };

void check(CUresult result, const char *call) {
	if (result) {
		fprintf(stderr, "bench: %s: error %d\n", call, result);
		exit(1);
	}
}

void nothing(void) {}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Some calls go before the timed ones: after a wait or another program's turn
   the caches are cold, in Go often those of another core. */
static double sample(const struct row *r, int n) {
	r->before();
	r->run(n / 10 > WARM_UP ? n / 10 : n < WARM_UP ? n : WARM_UP);
	double begin = now();
	r->run(n);
	double took = now() - begin;
	r->after();
	return took / n;
}

static double median(const struct row *r, int n, int samples) {
	double took[samples];
	sample(r, n); /* warm */
	for (int i = 0; i < samples; i++) took[i] = sample(r, n);
	qsort(took, samples, sizeof *took, ascending);
	return samples % 2 ? took[samples / 2] : (took[samples / 2 - 1] + took[samples / 2]) / 2;
}

static void describe(void) {
	int version;
	char device[128] = "";
	CHECK(cuDriverGetVersion(&version));
	cuDeviceGetName(device, sizeof device, 0);
	printf("ready C %s, driver %d.%d\n", device, version / 1000, version % 1000 / 10);
	fflush(stdout);
}

int serve(const struct row *(*find)(const char *name)) {
	char name[64];
	int n, samples;
	describe();
	while (scanf("%63s %d %d", name, &n, &samples) == 3) {
		if (n < 1 || samples < 1) return 2;
		const struct row *r = find(name);
		if (r)
			printf("%s %.3f 0\n", name, median(r, n, samples));
		else
			printf("%s -\n", name);
		fflush(stdout);
	}
	return 0;
}
