// Small things that came with 9.0: dependent launches, matrix stores, wide minima.

//@ dependent<<<2, 32>>>(in i32[64] random, out i32[64] zero) sm=90
extern "C" __global__ void dependent(const int *in, int *out) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = in[i] ^ 0x55;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

//@ matrix_store<<<1, 32>>>(in u32[64] random, out u32[64] zero) sm=90
extern "C" __global__ void matrix_store(const unsigned *in, unsigned *out) {
#if __CUDA_ARCH__ >= 900
    __shared__ __align__(16) unsigned s[64];
    unsigned row = (unsigned)__cvta_generic_to_shared(s + threadIdx.x % 16 * 4);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(row), "r"(in[threadIdx.x]), "r"(in[threadIdx.x + 32]) : "memory");
    __syncwarp();
    for (int i = threadIdx.x; i < 64; i += 32) out[i] = s[i];
#endif
}

//@ three<<<1, 64>>>(in i32[192] random, out i32[128] zero)
extern "C" __global__ void three(const int *in, int *out) {
    int a = in[threadIdx.x], b = in[threadIdx.x + 64], c = in[threadIdx.x + 128];
#if __CUDACC_VER_MAJOR__ >= 12
    out[threadIdx.x] = __vimax3_s32(a, b, c) - __vimin3_s32(a, b, c);
    out[threadIdx.x + 64] = __viaddmax_s16x2(a, b, c) ^ __vimin_s32_relu(a, b);
#else
    out[threadIdx.x] = out[threadIdx.x + 64] = a + b + c;
#endif
}

//@ elected<<<1, 64>>>(out u32[64] zero) sm=90
extern "C" __global__ void elected(unsigned *out) {
#if __CUDA_ARCH__ >= 900
    unsigned one;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(one));
    out[threadIdx.x] = __popc(__ballot_sync(~0u, one)) * 2;
#endif
}
