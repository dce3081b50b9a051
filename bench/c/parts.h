/* The rows of the C program that have a file of their own, waits.c: prepared once,
 * with the context current, and found by name. */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include "rows.h"

enum { CHAIN = 1000, CROWD = 16 };

void prepare_waits(CUcontext context, CUmodule module, CUdevice device);
const struct row *find_wait(const char *name);

#define ROW_NAMED(rows, name) \
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) \
		if (!strcmp(rows[i].name, name)) return &rows[i]

#endif
