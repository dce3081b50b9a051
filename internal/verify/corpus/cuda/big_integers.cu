// Numbers of many words: carries through the compiler and by ballots.

//@ multiply<<<1, 32>>>(a u32[256] random, b u32[256] random, out u32[512] zero)
extern "C" __global__ void multiply(const unsigned *a, const unsigned *b, unsigned *out) {
    unsigned r[16] = {};
    a += threadIdx.x * 8;
    b += threadIdx.x * 8;
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        unsigned long long carry = 0;
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            carry += (unsigned long long)a[i] * b[j] + r[i + j];
            r[i + j] = (unsigned)carry;
            carry >>= 32;
        }
        r[i + 8] = (unsigned)carry;
    }
    for (int i = 0; i < 16; i++) out[threadIdx.x * 16 + i] = r[i];
}

//@ add_warp<<<4, 32>>>(a u32[128] random, b u32[128] random, out u32[128] zero)
extern "C" __global__ void add_warp(const unsigned *a, const unsigned *b, unsigned *out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    unsigned x = a[i], s = x + b[i];
    unsigned made = __ballot_sync(~0u, s < x), passed = __ballot_sync(~0u, s == ~0u);
    unsigned in = (made << 1) + passed;
    in ^= passed;
    out[i] = s + (in >> threadIdx.x & 1);
}

//@ multiply_carry<<<1, 64>>>(a u64[64] random, b u64[64] random, out u64[128] zero)
extern "C" __global__ void multiply_carry(const unsigned long long *a, const unsigned long long *b, unsigned long long *out) {
    unsigned long long x = a[threadIdx.x], y = b[threadIdx.x], lo, hi;
    asm("mul.lo.u64 %0, %2, %3;\n\tmul.hi.u64 %1, %2, %3;\n\tadd.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, 0;\n\t"
        "mad.lo.cc.u64 %0, %3, 12345, %0;\n\tmadc.hi.u64 %1, %3, 12345, %1;" : "=l"(lo), "=l"(hi) : "l"(x), "l"(y));
    asm("sub.cc.u64 %0, %0, %2;\n\tsubc.u64 %1, %1, %3;" : "+l"(lo), "+l"(hi) : "l"(y), "l"(x >> 7));
    out[2 * threadIdx.x] = lo;
    out[2 * threadIdx.x + 1] = hi;
}

// What a carry chain does with the condition code of the other kind.
//@ mixed_chains<<<1, 64>>>(a u32[64] range(0,4), b u32[64] range(0,4), out u32[384] zero)
extern "C" __global__ void mixed_chains(const unsigned *a, const unsigned *b, unsigned *out) {
    unsigned x = a[threadIdx.x], y = b[threadIdx.x], *o = out + threadIdx.x * 6, t;
    asm volatile("sub.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;" : "=r"(t), "=r"(o[0]) : "r"(x), "r"(y));
    asm volatile("add.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, 100, %2;" : "=r"(t), "=r"(o[1]) : "r"(x - 2), "r"(y));
    asm volatile("sub.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, 100, 10;" : "=r"(t), "=r"(o[2]) : "r"(x), "r"(y));
    asm volatile("sub.cc.u32 %0, %2, %3;\n\tmadc.lo.u32 %1, %2, 7, 0;" : "=r"(t), "=r"(o[3]) : "r"(x), "r"(y));
    asm volatile("mad.lo.cc.u32 %0, %2, 0x80000000, 0x80000000;\n\tsubc.u32 %1, 100, %3;" : "=r"(t), "=r"(o[4]) : "r"(x), "r"(y));
    unsigned long long w = x, v = y, c;
    asm volatile("sub.cc.u64 %0, %0, %2;\n\taddc.u64 %1, 0, 0;" : "+l"(w), "=l"(c) : "l"(v));
    o[5] = c + t * 0;
}
