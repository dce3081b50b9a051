// Loads and stores with cache operators, address spaces told apart.

//@ hinted<<<1, 64>>>(in f32[256] random, out f32[192] zero)
extern "C" __global__ void hinted(const float *in, float *out) {
    int t = threadIdx.x;
    float a = __ldg(in + t), b = __ldcg(in + 64 + t), c = __ldcs(in + 128 + t), d = __ldlu(in + 192 + t), e = __ldcv(in + (t ^ 1));
    __stcg(out + t, a + b);
    __stcs(out + 64 + t, c - d);
    __stwt(out + 128 + t, e);
}

__device__ int somewhere[2] = {40, 50};
__constant__ int fixedly[2] = {60, 70};

//@ spaces<<<1, 32>>>(out u32[32] zero)
extern "C" __global__ void spaces(unsigned *out) {
    __shared__ int shared[2];
    int local[2] = {(int)threadIdx.x, 20};
    if (threadIdx.x < 2) shared[threadIdx.x] = 30;
    __syncthreads();
    const int *p[4] = {local, shared, somewhere, fixedly};
    const int *q = p[threadIdx.x % 4];
    out[threadIdx.x] = q[threadIdx.x & 1] | __isGlobal(q) << 8 | __isShared(q) << 9 | __isLocal(q) << 10 | __isConstant(q) << 11;
}

//@ ordered<<<1, 64>>>(data u32[64] random)
extern "C" __global__ void ordered(unsigned *data) {
    unsigned v, *p = data + threadIdx.x;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(p), "r"(v * 3) : "memory");
    asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    asm volatile("red.relaxed.cta.global.add.u32 [%0], %1;" :: "l"(p), "r"(v & 15) : "memory");
    asm volatile("membar.gl;\n\tprefetch.global.L2 [%0];" :: "l"(p) : "memory");
}
