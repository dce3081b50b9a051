// The functions of the mathematics library, and their fast forms.

//@ elementary<<<1, 64>>>(in f32[64] range(0.1,3), out f32[768] zero ~1e-5)
extern "C" __global__ void elementary(const float *in, float *out) {
    float x = in[threadIdx.x], *o = out + threadIdx.x * 12;
    o[0] = sinf(x); o[1] = cosf(x); o[2] = tanf(x * 0.4f); o[3] = expf(x); o[4] = logf(x); o[5] = log10f(x + 2);
    o[6] = powf(x, 2.3f); o[7] = sqrtf(x); o[8] = cbrtf(x); o[9] = hypotf(x, 1); o[10] = exp2f(x); o[11] = log1pf(x);
}

//@ further<<<1, 64>>>(in f32[64] range(-0.9,0.9), out f32[768] zero ~1e-4)
extern "C" __global__ void further(const float *in, float *out) {
    float x = in[threadIdx.x], *o = out + threadIdx.x * 12;
    o[0] = asinf(x); o[1] = acosf(x); o[2] = atanf(x); o[3] = sinhf(x); o[4] = coshf(x); o[5] = atanhf(x);
    o[6] = erff(x); o[7] = erfcf(x); o[8] = tgammaf(x + 2); o[9] = j0f(x); o[10] = normcdff(x); o[11] = expm1f(x);
}

//@ fast<<<1, 64>>>(in f32[64] range(0.5,2), out f32[640] zero ~1e-4)
extern "C" __global__ void fast(const float *in, float *out) {
    float x = in[threadIdx.x], *o = out + threadIdx.x * 10;
    o[0] = __sinf(x); o[1] = __cosf(x * 0.5f); o[2] = __expf(x); o[3] = __logf(x + 1.5f); o[4] = __powf(x, 1.5f);
    o[5] = __fdividef(x, 3); o[6] = rsqrtf(x); o[7] = __frcp_rn(x); o[8] = __frsqrt_rn(x); o[9] = __saturatef(x - 1);
}

//@ large_angles<<<1, 32>>>(in f32[32] range(1e5,1e8), out f32[64] zero ~1e-5)
extern "C" __global__ void large_angles(const float *in, float *out) {
    sincosf(in[threadIdx.x], &out[2 * threadIdx.x], &out[2 * threadIdx.x + 1]);
}
