/* A stand-in for the driver library on any platform. It records its arguments so
 * that the test can check them. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#define API __declspec(dllexport)
#else
#include <pthread.h>
#include <unistd.h>
#define API __attribute__((visibility("default")))
#endif

typedef unsigned long long word;
typedef struct { char reserved[64]; } handle;
typedef struct { int type; int id; } location;

/* The arguments of the last call of cuLaunchKernel. */
static word seen[16];

API int cuInit(unsigned flags) { return (int)flags; }

API int cuDriverGetVersion(int *version) { *version = 13000; return 0; }

/* Callers must use the results of cuGetProcAddress and not the exported names. */
static int asked_synchronize(void) { return 42; }

API int cuCtxSynchronize(void) { return 41; }

API int cuGetProcAddress_v2(const char *name, void **out, int version, word flags, int *found)
{
	*out = strcmp(name, "cuCtxSynchronize") ? NULL : (void *)asked_synchronize;
	*found = *out == NULL;
	return version > 13000 || flags != 0;
}

/* Eleven arguments of 4 and 8 bytes. The kernel's first parameter is an int. Twice
 * its value is stored where the second parameter points. */
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared, void *stream, void **params, void **extra)
{
	word all[] = { (size_t)f, gx, gy, gz, bx, by, bz, shared, (size_t)stream, params != NULL, (size_t)extra };
	memcpy(seen, all, sizeof all);
	if (params)
		**(int **)params[1] = 2 * *(int *)params[0];
	return 0;
}

/* A struct of 64 bytes is passed by value, between two words. */
API int cuIpcOpenMemHandle_v2(word *out, handle h, unsigned flags)
{
	*out = 0;
	for (size_t i = 0; i < sizeof h.reserved; i++)
		*out = *out * 31 + (unsigned char)h.reserved[i];
	h.reserved[0] = 99; /* must not change the caller's struct */
	return (int)flags;
}

/* A struct of 8 bytes is passed by value. */
API int cuMemPrefetchAsync_v2(word ptr, size_t count, location where, unsigned flags, void *stream)
{
	return (int)(ptr + 10 * count + 100 * where.type + 1000 * where.id + 10000 * flags + 100000 * (size_t)stream);
}

/* The arguments include floats. */
API int cuTexRefSetMipmapLevelClamp(void *ref, float min, float max)
{
	return (int)(size_t)ref + (int)(min * 100) + (int)(max * 10000);
}

/* Words and floating-point numbers alternate, with more of each than fit in registers. */
API double mixed(int a, float b, long long c, double d, signed char e, float f, unsigned short g, double h, void *i, float j, unsigned k, double l,
		 long long m, float n, double o, float p, double q, int r, float s)
{
	return a + 2 * b + 3 * (double)c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * (double)(size_t)i + 10 * j + 11 * (double)k + 12 * l +
	       13 * (double)m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s;
}

API float half_of(float x) { return x / 2; }

API double twice(double x) { return 2 * x; }

/* Only the result is a floating-point number. */
API float ratio(int a, int b) { return (float)a / b; }

API int is_more(float a, float b) { return a > b; }

API const char *name_of(int i) { return i < 0 ? NULL : i ? "one" : ""; }

API signed char length(const char *s) { return (signed char)-(int)strlen(s); }

/* The function calls back before it returns, and it has a floating-point argument. */
API double after(void (*fn)(void *), void *data, double x) { fn(data); return x + 1; }

/* C writes to Go's memory. */
API int cuMemcpyDtoH_v2(void *to, word from, size_t bytes)
{
	if (from != 0 || bytes > sizeof seen)
		return 1;
	memcpy(to, seen, bytes);
	return 0;
}

/* The function calls back before it returns. */
API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *f, size_t (*shared)(int), size_t fixed, int limit)
{
	*grid = (int)shared(limit) + (int)fixed + (int)(size_t)f;
	*block = limit;
	return 0;
}

/* The library calls back on its own thread, which first sleeps. The stream's number
 * is the delay in milliseconds. */
typedef void (*host_function)(void *);
struct task { host_function fn; void *data; unsigned wait; };

static void run(struct task *t)
{
#ifdef _WIN32
	Sleep(t->wait);
#else
	usleep(t->wait * 1000);
#endif
	t->fn(t->data);
	free(t);
}

#ifdef _WIN32
static DWORD WINAPI main_of_thread(LPVOID t) { run(t); return 0; }
#else
static void *main_of_thread(void *t) { run(t); return NULL; }
#endif

API int cuLaunchHostFunc(void *stream, host_function fn, void *data)
{
	struct task *t = malloc(sizeof *t);
	t->fn = fn;
	t->data = data;
	t->wait = (unsigned)(size_t)stream;
#ifdef _WIN32
	HANDLE thread = CreateThread(NULL, 0, main_of_thread, t, 0, NULL);
	return thread == NULL || !CloseHandle(thread);
#else
	pthread_t thread;
	return pthread_create(&thread, NULL, main_of_thread, t) || pthread_detach(thread);
#endif
}
