// Barriers in shared memory: arrive and wait since 8.0, bulk copies since 9.0.

//@ phases<<<1, 64>>>(in i32[64] range(0,100), out i32[64] zero) sm=80
extern "C" __global__ void phases(const int *in, int *out) {
#if __CUDA_ARCH__ >= 800
    __shared__ unsigned long long bar;
    __shared__ int s[64];
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(64) : "memory");
    __syncthreads();
    int v = in[threadIdx.x];
    for (int round = 0; round < 4; round++) {
        s[threadIdx.x] = v;
        unsigned long long state;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
        unsigned done = 0;
        while (!done)
            asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(done) : "r"(at), "l"(state) : "memory");
        v += s[(threadIdx.x + 1 + round) % 64];
        __syncthreads();
    }
    out[threadIdx.x] = v;
    if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at) : "memory");
#endif
}

//@ bulk<<<1, 32>>>(in f32[256] random, out f32[256] zero) sm=90
extern "C" __global__ void bulk(const float *in, float *out) {
#if __CUDA_ARCH__ >= 900
    __shared__ __align__(16) float s[256];
    __shared__ unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(1024) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(to), "l"(in), "r"(1024), "r"(at) : "memory");
    }
    __syncthreads();
    asm volatile("{\n\t.reg .pred p;\nwait%=:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n\t@!p bra wait%=;\n\t}" :: "r"(at) : "memory");
    for (int i = threadIdx.x; i < 256; i += 32) s[i] = s[i] * 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(out), "r"(to), "r"(1024) : "memory");
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
#endif
}
