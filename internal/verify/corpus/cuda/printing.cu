// printf and assert: nothing wrong, so what is left is that the kernel ran.
#include <assert.h>
#include <stdio.h>

//@ greet<<<1, 2>>>(out i32[2] zero, x f64 1.5)
extern "C" __global__ void greet(int *out, double x) {
    out[threadIdx.x] = printf("thread %d of %u: %s %.2f %lld %c %%\n", threadIdx.x, blockDim.x, "text", x, 1ll << 40, 'z');
}

//@ plain<<<1, 1>>>()
extern "C" __global__ void plain() { printf("no arguments\n"); }

//@ asserted<<<1, 32>>>(in i32[32] range(1,9), out i32[32] zero)
extern "C" __global__ void asserted(const int *in, int *out) {
    assert(in[threadIdx.x] > 0 && "positive");
    assert(blockDim.x == 32);
    out[threadIdx.x] = 100 / in[threadIdx.x];
}
