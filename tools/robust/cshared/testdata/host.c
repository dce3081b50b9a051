// A C program that opens libadd.so and uses it from several threads:
// host PATH EMULATED
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int (*selftest)(void);

static void *many(void *failures) {
	for (int i = 0; i < 20; i++)
		if (selftest() != 0)
			__atomic_add_fetch((int *)failures, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

int main(int argc, char **argv) {
	void *lib = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!lib) {
		fprintf(stderr, "host: %s\n", argc == 3 ? dlerror() : "host PATH EMULATED");
		return 2;
	}
	int (*start)(int) = (int (*)(int))dlsym(lib, "AddOpen");
	int (*end)(void) = (int (*)(void))dlsym(lib, "AddClose");
	selftest = (int (*)(void))dlsym(lib, "AddSelftest");
	if (start(atoi(argv[2])) != 0)
		return 1;
	int failures = 0;
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, many, &failures);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	failures += end();
	printf("c-shared: %d failures\n", failures);
	return failures != 0;
}
