// Calls through pointers: from a table in device memory and from locals.

typedef float (*Op)(float, float);

__device__ float add(float a, float b) { return a + b; }
__device__ float sub(float a, float b) { return a - b; }
__device__ float mul(float a, float b) { return a * b; }
__device__ float big(float a, float b) { return a > b ? a : b; }

__device__ Op table[4] = {add, sub, mul, big};

//@ by_table<<<1, 64>>>(which u8[64] range(0,4), a f32[64] random, b f32[64] random, out f32[64] zero)
extern "C" __global__ void by_table(const unsigned char *which, const float *a, const float *b, float *out) {
    int i = threadIdx.x;
    out[i] = table[which[i]](a[i], b[i]);
}

__device__ __noinline__ int fold(int (*f)(int, int), const int *v, int n) {
    int s = v[0];
    for (int i = 1; i < n; i++) s = f(s, v[i]);
    return s;
}

__device__ int plus(int a, int b) { return a + b; }
__device__ int most(int a, int b) { return max(a, b); }

//@ by_argument<<<1, 32>>>(v i32[320] range(-50,50), out i32[32] zero)
extern "C" __global__ void by_argument(const int *v, int *out) {
    out[threadIdx.x] = fold(threadIdx.x % 2 ? plus : most, v + threadIdx.x * 10, 10);
}
