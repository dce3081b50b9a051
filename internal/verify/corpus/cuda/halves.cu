// Half precision, alone and in pairs.
#include <cuda_fp16.h>

//@ half_math<<<1, 64>>>(a f16[64] random, b f16[64] range(0.5,2), out f16[512] zero ~2e-3)
extern "C" __global__ void half_math(const __half *a, const __half *b, __half *out) {
    int i = threadIdx.x;
    __half x = a[i], y = b[i], *o = out + i * 8;
    o[0] = __hadd(x, y); o[1] = __hsub(x, y); o[2] = __hmul(x, y); o[3] = __hdiv(x, y);
    o[4] = __hfma(x, y, x); o[5] = hsqrt(y); o[6] = __hneg(x); o[7] = __habs(x);
}

//@ half_pairs<<<1, 64>>>(a f16[128] random, b f16[128] random, out f16[512] zero)
extern "C" __global__ void half_pairs(const __half2 *a, const __half2 *b, __half2 *out) {
    int i = threadIdx.x;
    __half2 x = a[i], y = b[i], *o = out + i * 4;
    o[0] = __hadd2(x, y);
    o[1] = __hfma2(x, y, __float2half2_rn(0.125f));
    o[2] = __lows2half2(x, y);
    o[3] = __hgt2(x, y);
}

//@ half_compare<<<1, 64>>>(a f16[64] random, b f16[64] random, out u32[64] zero)
extern "C" __global__ void half_compare(const __half *a, const __half *b, unsigned *out) {
    int i = threadIdx.x;
    __half x = a[i], y = b[i];
    out[i] = __heq(x, y) | __hlt(x, y) << 1 | __hge(x, y) << 2 | __hisnan(x) << 3 | (unsigned)__half2int_rz(__hmul(x, __float2half(50.f))) << 8;
}

//@ half_functions<<<1, 32>>>(a f16[32] range(0.1,4), out f32[128] zero ~2e-3)
extern "C" __global__ void half_functions(const __half *a, float *out) {
    __half x = a[threadIdx.x];
    float *o = out + threadIdx.x * 4;
    o[0] = __half2float(hexp(x)); o[1] = __half2float(hlog(x)); o[2] = __half2float(hrcp(x)); o[3] = __half2float(hsin(x));
}

//@ half_atomics<<<1, 64>>>(out f16[2] zero, pair f16[2] zero)
extern "C" __global__ void half_atomics(__half *out, __half2 *pair) {
    atomicAdd(out + threadIdx.x % 2, __float2half(1.f));
    atomicAdd(pair, __floats2half2_rn(1.f, 2.f));
}
