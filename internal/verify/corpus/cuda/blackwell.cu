// What came with 10.0: pairs of floats in one register, loads of 32 bytes.

//@ pairs<<<1, 32>>>(a f32[64] random, b f32[64] random, out f32[64] zero) sm=100
extern "C" __global__ void pairs(const unsigned long long *a, const unsigned long long *b, unsigned long long *out) {
#if __CUDA_ARCH__ >= 1000
    unsigned long long v;
    asm("fma.rn.f32x2 %0, %1, %2, %1;" : "=l"(v) : "l"(a[threadIdx.x]), "l"(b[threadIdx.x]));
    asm("add.rn.ftz.f32x2 %0, %0, %1;" : "+l"(v) : "l"(b[threadIdx.x]));
    out[threadIdx.x] = v;
#endif
}

//@ eights<<<1, 32>>>(in f32[256] random, out f32[256] zero) sm=100
extern "C" __global__ void eights(const float *in, float *out) {
#if __CUDA_ARCH__ >= 1000
    float v[8];
    asm volatile("ld.global.nc.v8.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]) : "l"(in + threadIdx.x * 8));
    asm volatile("st.global.v8.f32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};"
                 :: "f"(v[7]), "f"(v[6]), "f"(v[5]), "f"(v[4]), "f"(v[3]), "f"(v[2]), "f"(v[1]), "f"(v[0]), "l"(out + threadIdx.x * 8) : "memory");
#endif
}

//@ plain<<<1, 32>>>(in f32[32] random, out f32[32] zero ~1e-3)
extern "C" __global__ void plain(const float *in, float *out) {
    float v = in[threadIdx.x], t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(v));
    out[threadIdx.x] = t;
}
