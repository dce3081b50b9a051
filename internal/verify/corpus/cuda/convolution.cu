// Convolutions: separable with a filter in constant memory, and of channels.

__constant__ float taps[9] = {0.0625f, 0.125f, 0.25f, 0.5f, 1, 0.5f, 0.25f, 0.125f, 0.0625f};

//@ rows<<<1x8, 64>>>(in f32[512] random, out f32[512] zero)
extern "C" __global__ void rows(const float *in, float *out) {
    int x = threadIdx.x, y = blockIdx.y;
    float s = 0;
    for (int k = -4; k <= 4; k++) {
        int i = min(max(x + k, 0), 63);
        s = fmaf(taps[k + 4], in[y * 64 + i], s);
    }
    out[y * 64 + x] = s;
}

//@ channels<<<4, 6x6>>>(in f32[192] random, w f32[108] random, out f32[144] zero)
extern "C" __global__ void channels(const float *in, const float *w, float *out) {
    int x = threadIdx.x, y = threadIdx.y, o = blockIdx.x;
    float s = 0;
    for (int c = 0; c < 3; c++)
        #pragma unroll
        for (int ky = 0; ky < 3; ky++)
            #pragma unroll
            for (int kx = 0; kx < 3; kx++) s = fmaf(in[(c * 8 + y + ky) * 8 + x + kx], w[((o * 3 + c) * 3 + ky) * 3 + kx], s);
    out[(o * 6 + y) * 6 + x] = s > 0 ? s : 0.1f * s;
}

//@ pool<<<1, 4x4>>>(in f16[64] random, out f16[16] zero)
#include <cuda_fp16.h>
extern "C" __global__ void pool(const __half *in, __half *out) {
    int x = threadIdx.x * 2, y = threadIdx.y * 2;
    float m = -1e9f;
    for (int i = 0; i < 4; i++) m = fmaxf(m, __half2float(in[(y + i / 2) * 8 + x + i % 2]));
    out[threadIdx.y * 4 + threadIdx.x] = __float2half(m);
}
