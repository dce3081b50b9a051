// Eight-bit floats: conversions both ways.
#include <cuda_fp8.h>

//@ e4m3<<<1, 64>>>(in f32[64] range(-500,500), out u8[64] zero, back f32[64] zero)
extern "C" __global__ void e4m3(const float *in, unsigned char *out, float *back) {
    int i = threadIdx.x;
    __nv_fp8_e4m3 v(in[i]);
    out[i] = v.__x;
    back[i] = float(v);
}

//@ e5m2<<<1, 64>>>(in f32[64] range(-500,500), out u8[64] zero, back f32[64] zero)
extern "C" __global__ void e5m2(const float *in, unsigned char *out, float *back) {
    int i = threadIdx.x;
    __nv_fp8_e5m2 v(in[i] * 0.01f);
    out[i] = v.__x;
    back[i] = float(v);
}

//@ packed<<<1, 32>>>(in f32[128] random, out u32[32] zero, sum f32[32] zero ~1e-6)
extern "C" __global__ void packed(const float4 *in, unsigned *out, float *sum) {
    __nv_fp8x4_e4m3 v(in[threadIdx.x]);
    out[threadIdx.x] = v.__x;
    float4 f = float4(v);
    sum[threadIdx.x] = f.x + f.y + f.z + f.w;
}

//@ from_half<<<1, 64>>>(in f16[64] range(-4,4), out u16[64] zero)
extern "C" __global__ void from_half(const __half *in, unsigned short *out) {
    int i = threadIdx.x;
    unsigned char a = __nv_cvt_halfraw_to_fp8(in[i], __NV_SATFINITE, __NV_E4M3);
    unsigned char b = __nv_cvt_halfraw_to_fp8(in[i], __NV_NOSAT, __NV_E5M2);
    out[i] = a << 8 | b;
}
