// Functions that call themselves, which need a stack.

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__device__ __noinline__ bool odd(unsigned n);
__device__ __noinline__ bool even(unsigned n) { return n == 0 || odd(n - 1); }
__device__ __noinline__ bool odd(unsigned n) { return n != 0 && even(n - 1); }

//@ fibonacci<<<1, 12>>>(out i32[12] zero)
extern "C" __global__ void fibonacci(int *out) { out[threadIdx.x] = fib(threadIdx.x); }

//@ acker<<<1, 4>>>(out i32[4] zero)
extern "C" __global__ void acker(int *out) { out[threadIdx.x] = ackermann(2, threadIdx.x); }

//@ parity<<<1, 32>>>(out u8[32] zero)
extern "C" __global__ void parity(bool *out) { out[threadIdx.x] = even(threadIdx.x % 9); }

__device__ void quick(int *a, int n) {
    if (n < 2) return;
    int p = a[n / 2], i = 0, j = n - 1;
    while (i <= j) {
        while (a[i] < p) i++;
        while (a[j] > p) j--;
        if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
    }
    quick(a, j + 1);
    quick(a + i, n - i);
}

//@ quicksort<<<1, 8>>>(data i32[160] range(-500,500))
extern "C" __global__ void quicksort(int *data) { quick(data + threadIdx.x * 20, 20); }
