// Producers and consumers at numbered barriers.

//@ pipeline<<<1, 128>>>(in i32[256] random, out i32[256] zero)
extern "C" __global__ void pipeline(const int *in, int *out) {
    __shared__ int slot[64];
    int t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < 4; i++) {
            if (i > 0) asm volatile("bar.sync 2, 128;" ::: "memory");
            slot[t] = in[i * 64 + t] * 3;
            __threadfence_block();
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        }
    } else {
        for (int i = 0; i < 4; i++) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[i * 64 + t] = slot[63 - t];
            if (i < 3) asm volatile("bar.sync 2, 128;" ::: "memory");
        }
    }
}

//@ halves<<<1, 128>>>(in u32[128] random, out u32[128] zero)
extern "C" __global__ void halves(const unsigned *in, unsigned *out) {
    __shared__ unsigned s[128];
    int group = threadIdx.x / 64;
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("barrier.sync %0, %1;" :: "r"(group + 3), "r"(64) : "memory");
    unsigned v = s[group * 64 + 63 - threadIdx.x % 64], any;
    asm volatile("{\n\t.reg .pred p, q;\n\tsetp.gt.u32 p, %1, %2;\n\tbarrier.red.popc.u32 %0, 9, 128, p;\n\t}" : "=r"(any) : "r"(v), "r"(0x80000000u) : "memory");
    out[threadIdx.x] = v + any;
}
