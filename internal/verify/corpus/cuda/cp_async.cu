// Copies to shared memory that go on while the threads do, since 8.0.
#include <cuda_pipeline.h>

//@ staged<<<2, 64>>>(in f32[2048] random, out f32[128] zero)
extern "C" __global__ void staged(const float *in, float *out) {
    __shared__ __align__(16) float buffer[2][256];
    const float *mine = in + blockIdx.x * 1024;
    float s = 0;
    __pipeline_memcpy_async(&buffer[0][threadIdx.x * 4], mine + threadIdx.x * 4, 16);
    __pipeline_commit();
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&buffer[(k + 1) & 1][threadIdx.x * 4], mine + (k + 1) * 256 + threadIdx.x * 4, 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int i = 0; i < 4; i++) s += buffer[k & 1][i * 64 + (threadIdx.x ^ 5)];
        __syncthreads();
    }
    out[blockIdx.x * 64 + threadIdx.x] = s;
}

//@ by_hand<<<1, 32>>>(in u32[160] random, out u32[160] zero) sm=80
extern "C" __global__ void by_hand(const unsigned *in, unsigned *out) {
#if __CUDA_ARCH__ >= 800
    __shared__ __align__(16) unsigned s[160];
    unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 4);
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" :: "r"(to), "l"(in + threadIdx.x * 4) : "memory");
    to = (unsigned)__cvta_generic_to_shared(s + 128 + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(in + 128 + threadIdx.x), "r"(threadIdx.x & 1 ? 4 : 0) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int i = threadIdx.x; i < 160; i += 32) out[i] = s[159 - i];
#endif
}
