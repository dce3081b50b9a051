// mma.sync and ldmatrix written as assembler.

//@ mma_f16<<<1, 32>>>(a f16[256] random, b f16[128] random, d f32[128] zero ~1e-4) sm=80
extern "C" __global__ void mma_f16(const unsigned *a, const unsigned *b, float *d) {
#if __CUDA_ARCH__ >= 800
    __shared__ __align__(16) unsigned tile[128];
    int lane = threadIdx.x;
    for (int i = lane; i < 128; i += 32) tile[i] = a[i];
    __syncwarp();
    unsigned row = (unsigned)__cvta_generic_to_shared(&tile[(lane % 16) * 8 + lane / 16 * 4]);
    unsigned r0, r1, r2, r3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(row) : "memory");
    unsigned b0 = b[lane], b1 = b[lane + 32];
    float c0 = 0, c1 = 1, c2 = 2, c3 = 3;
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(b0), "r"(b1));
    d[lane * 4] = c0; d[lane * 4 + 1] = c1; d[lane * 4 + 2] = c2; d[lane * 4 + 3] = c3;
#endif
}

//@ mma_s8<<<1, 32>>>(a u32[128] random, b u32[64] random, d i32[128] zero) sm=80
extern "C" __global__ void mma_s8(const unsigned *a, const unsigned *b, int *d) {
#if __CUDA_ARCH__ >= 800
    int lane = threadIdx.x, c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
        : "r"(a[lane]), "r"(a[lane + 32]), "r"(a[lane + 64]), "r"(a[lane + 96]), "r"(b[lane]), "r"(b[lane + 32]));
    d[lane * 4] = c0; d[lane * 4 + 1] = c1; d[lane * 4 + 2] = c2; d[lane * 4 + 3] = c3;
#endif
}

//@ mma_tf32<<<1, 32>>>(a f32[128] random, b f32[64] random, d f32[128] zero ~1e-3) sm=80
extern "C" __global__ void mma_tf32(const unsigned *a, const unsigned *b, float *d) {
#if __CUDA_ARCH__ >= 800
    int lane = threadIdx.x;
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
        : "r"(a[lane]), "r"(a[lane + 32]), "r"(a[lane + 64]), "r"(a[lane + 96]), "r"(b[lane]), "r"(b[lane + 32]));
    d[lane * 4] = c0; d[lane * 4 + 1] = c1; d[lane * 4 + 2] = c2; d[lane * 4 + 3] = c3;
#endif
}

//@ mma_turing<<<1, 32>>>(a u32[64] random, b u32[32] random, d i32[64] zero)
extern "C" __global__ void mma_turing(const unsigned *a, const unsigned *b, int *d) {
    int lane = threadIdx.x, c0 = lane, c1 = -lane;
    asm("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+r"(c0), "+r"(c1) : "r"(a[lane]), "r"(b[lane]));
    d[lane * 2] = c0;
    d[lane * 2 + 1] = c1;
}
