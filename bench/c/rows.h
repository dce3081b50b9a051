/* What the C programs measure, and how: the same as bench/internal/child in Go. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "driver.h"

/* One measurement; only run is timed, which does the operation n times. */
struct row {
	const char *name;
	void (*before)(void);
	void (*run)(int n);
	void (*after)(void);
};

void nothing(void);

/* serve says "ready" with a description, then obeys standard input, one row at a
 * time, so that the program which compares can alternate between callers:
 *
 *     <row> <operations per sample> <samples>
 *
 * answers "<row> <median nanoseconds per operation> 0", or "<row> -" where find
 * returns NULL. It returns the program's exit status. */
int serve(const struct row *(*find)(const char *name));

#define CHECK(call) check(call, #call)

/* check ends the program with the name of a call that failed. */
void check(CUresult result, const char *call);

#endif
