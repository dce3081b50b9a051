/* Launches kernels with nothing to do: what a C program pays for the launches
 * that package launches makes. Its argument behind "rows" is a list that
 * launchbench wrote, with a line for each kernel:
 *
 *     <PTX file> <kernel> <grid x y z> <block x y z> <parameters> <size>...
 *
 * A parameter of size -1 is memory, all others have the bytes 0. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "rows.h"

enum { MAX_KERNELS = 1024, MAX_PARAMS = 32, MAX_BYTES = 4096 };

static struct kernel {
	char name[64];
	CUfunction function;
	unsigned grid[3], block[3];
	void *arguments[MAX_PARAMS];
} kernels[MAX_KERNELS];

static size_t count;
static const struct kernel *current;
static CUstream stream;
static CUdeviceptr memory;
static char zeros[MAX_BYTES];

static void fail(const char *what, const char *name) {
	fprintf(stderr, "bench: %s: %s\n", what, name);
	exit(1);
}

static char *text_of(const char *path) {
	FILE *f = fopen(path, "rb");
	if (!f) fail("cannot open", path);
	size_t size = 0, room = 1 << 20;
	char *text = malloc(room);
	while ((size += fread(text + size, 1, room - size - 1, f)) == room - 1) text = realloc(text, room *= 2);
	text[size] = 0;
	fclose(f);
	return text;
}

/* The kernels of a file follow each other. */
static CUmodule module_of(const char *path) {
	static char latest[4096];
	static CUmodule module;
	if (strcmp(latest, path)) {
		char *text = text_of(path);
		CHECK(cuModuleLoadData(&module, text));
		free(text);
		snprintf(latest, sizeof latest, "%s", path);
	}
	return module;
}

static void read_list(const char *path) {
	FILE *f = fopen(path, "r");
	char text[4096];
	if (!f) fail("cannot open", path);
	while (count < MAX_KERNELS && fscanf(f, "%4095s", text) == 1) {
		struct kernel *k = &kernels[count++];
		unsigned *g = k->grid, *b = k->block;
		int params, size;
		if (fscanf(f, "%63s %u %u %u %u %u %u %d", k->name, g, g + 1, g + 2, b, b + 1, b + 2, &params) != 8 || params > MAX_PARAMS)
			fail("what is this line", text);
		for (int i = 0; i < params; i++) {
			if (fscanf(f, "%d", &size) != 1 || size > MAX_BYTES) fail("what parameters are these", k->name);
			k->arguments[i] = size < 0 ? (void *)&memory : zeros;
		}
		CHECK(cuModuleGetFunction(&k->function, module_of(text), k->name));
	}
	fclose(f);
}

static void run_launch(int n) {
	const struct kernel *k = current;
	for (int i = 0; i < n; i++)
		CHECK(cuLaunchKernel(k->function, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], 0, stream, (void **)k->arguments, NULL));
}

static void settle(void) { CHECK(cuStreamSynchronize(stream)); }

static const struct row *find(const char *name) {
	static const struct row launch = {"launch", nothing, run_launch, settle};
	for (size_t i = 0; i < count; i++)
		if (!strcmp(kernels[i].name, name)) {
			current = &kernels[i];
			return &launch;
		}
	return NULL;
}

int main(int argc, char **argv) {
	CUdevice device;
	CUcontext context;
	if (argc != 3) fail("usage", "launchbench-c rows LIST");
	open_driver();
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, 1024));
	read_list(argv[2]);
	return serve(find);
}
