#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFINE(name, symbol, prototype) CUresult(*name) prototype;
DRIVER_FUNCTIONS(DEFINE)
#undef DEFINE

void open_driver(void) {
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "bench: %s\n", dlerror());
		exit(3);
	}
#define RESOLVE(name, symbol, prototype) \
	*(void **)&name = dlsym(library, symbol); \
	if (!name) { \
		fprintf(stderr, "bench: libcuda.so.1 has no %s\n", symbol); \
		exit(3); \
	}
	DRIVER_FUNCTIONS(RESOLVE)
#undef RESOLVE
}
