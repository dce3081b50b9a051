/* This library takes the place of the driver in tests of function resolution.
 * The exported functions and those from cuGetProcAddress return different
 * numbers. */
#include <stddef.h>
#include <string.h>

#ifndef VERSION
#define VERSION 12020
#endif

static int newest; /* the newest requested version */

int cuInit(unsigned flags) { return (int)flags; }

int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }

int cuMemAlloc_v2(void *p, size_t n) { return 20; }

int cuMemFree_v2(unsigned long long p) { return 21; }

int cuEventQuery(void *e) { return 22; }

int cuCtxSynchronize(void) { return newest; }

static int asked_alloc(void *p, size_t n) { return 10; }

static int oldest_update(void *x, void *g, void *n, void *r) { return 11; }

static int find(const char *name, void **out, int version, unsigned long long flags)
{
	if (version > newest)
		newest = version;
	*out = NULL;
	if (flags != 0)
		return 1;
	if (!strcmp(name, "cuMemAlloc"))
		*out = version >= 3020 ? (void *)asked_alloc : NULL;
	else if (!strcmp(name, "cuGraphExecUpdate")) /* whatever the version */
		*out = (void *)oldest_update;
	else if (!strcmp(name, "cuEventQuery"))
		return 500;
	return 0; /* success with a null pointer: the function is missing */
}

#ifdef FIRST_FORM
int cuGetProcAddress(const char *name, void **out, int version, unsigned long long flags)
{
	return find(name, out, version, flags);
}
#elif !defined(NO_FORM)
int cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long long flags, int *found)
{
	int r = find(name, out, version, flags);
	*found = *out == NULL;
	return r;
}
#endif
