// bfloat16: conversions everywhere, arithmetic since 8.0.
#include <cuda_bf16.h>

//@ bf_convert<<<1, 64>>>(a f32[64] random, out bf16[128] zero, back f32[64] zero)
extern "C" __global__ void bf_convert(const float *a, __nv_bfloat16 *out, float *back) {
    int i = threadIdx.x;
    out[2 * i] = __float2bfloat16(a[i]);
    out[2 * i + 1] = __float2bfloat16_rz(a[i]);
    back[i] = __bfloat162float(out[2 * i]) - a[i];
}

//@ bf_math<<<1, 64>>>(a bf16[64] random, b bf16[64] range(0.5,2), out bf16[384] zero) sm=80
extern "C" __global__ void bf_math(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out) {
#if __CUDA_ARCH__ >= 800
    int i = threadIdx.x;
    __nv_bfloat16 x = a[i], y = b[i], *o = out + i * 6;
    o[0] = __hadd(x, y); o[1] = __hmul(x, y); o[2] = __hfma(x, y, x);
    o[3] = __hmax(x, y); o[4] = __hmin(x, y); o[5] = __hneg(__habs(x));
#endif
}

//@ bf_pairs<<<1, 32>>>(a bf16[64] random, b bf16[64] random, out bf16[192] zero, sum f32[32] zero ~1e-6) sm=80
extern "C" __global__ void bf_pairs(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out, float *sum) {
#if __CUDA_ARCH__ >= 800
    int i = threadIdx.x;
    __nv_bfloat162 x = a[i], y = b[i];
    out[3 * i] = __hadd2(x, y);
    out[3 * i + 1] = __hfma2(x, y, x);
    out[3 * i + 2] = __halves2bfloat162(__high2bfloat16(x), __low2bfloat16(y));
    float2 f = __bfloat1622float2(x);
    sum[i] = f.x + f.y;
#endif
}
