/* This library takes the place of the driver in tests of arguments that are not
 * words. Each function returns or stores a number derived from all its
 * arguments. */
#include <stddef.h>

typedef struct { char reserved[64]; } handle;
typedef struct { int type; int id; } location;

static unsigned long long digest(handle h)
{
	unsigned long long n = 0;
	for (size_t i = 0; i < sizeof h.reserved; i++)
		n = n * 31 + (unsigned char)h.reserved[i];
	return n;
}

int cuDriverGetVersion(int *version) { *version = 13000; return 0; }

int cuIpcOpenMemHandle_v2(unsigned long long *out, handle h, unsigned flags)
{
	*out = digest(h);
	return (int)flags;
}

int cuIpcOpenEventHandle(void **out, handle h)
{
	*out = (void *)(size_t)digest(h);
	return 77;
}

int cuMemAdvise_v2(unsigned long long ptr, size_t count, int advice, location where)
{
	return (int)(ptr + 10 * count + 100 * advice + 1000 * where.type + 10000 * where.id);
}

int cuMemPrefetchAsync_v2(unsigned long long ptr, size_t count, location where, unsigned flags, void *stream)
{
	return (int)(ptr + 10 * count + 100 * where.type + 1000 * where.id + 10000 * flags + 100000 * (size_t)stream);
}

int cuParamSetf(void *f, int offset, float value) { return (int)(size_t)f + 10 * offset + (int)(value * 100); }

int cuTexRefSetMipmapLevelBias(void *ref, float bias) { return (int)(size_t)ref + (int)(bias * 100); }

int cuTexRefSetMipmapLevelClamp(void *ref, float min, float max)
{
	return (int)(size_t)ref + (int)(min * 100) + (int)(max * 10000);
}
