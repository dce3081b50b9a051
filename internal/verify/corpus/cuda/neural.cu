// What a transformer is made of: softmax, norms, rotations, attention, activations.

__device__ float sumOver(float v) { for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d); return v; }
__device__ float maxOver(float v) { for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d)); return v; }

//@ softmax<<<4, 32>>>(x f32[256] range(-5,5) ~1e-5, n i32 64)
extern "C" __global__ void softmax(float *x, int n) {
    float *row = x + blockIdx.x * n, m = -INFINITY, s = 0;
    for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, row[i]);
    m = maxOver(m);
    for (int i = threadIdx.x; i < n; i += 32) s += row[i] = expf(row[i] - m);
    s = sumOver(s);
    for (int i = threadIdx.x; i < n; i += 32) row[i] /= s;
}

//@ layer_norm<<<4, 32>>>(x f32[256] random, g f32[64] random, b f32[64] random, out f32[256] zero ~1e-3, eps f32 1e-5)
extern "C" __global__ void layer_norm(const float *x, const float *g, const float *b, float *out, float eps) {
    float2 v = ((const float2 *)x)[blockIdx.x * 32 + threadIdx.x];
    float mean = sumOver(v.x + v.y) / 64;
    v.x -= mean;
    v.y -= mean;
    float inv = rsqrtf(sumOver(v.x * v.x + v.y * v.y) / 64 + eps);
    float2 r = make_float2(v.x * inv * g[2 * threadIdx.x] + b[2 * threadIdx.x], v.y * inv * g[2 * threadIdx.x + 1] + b[2 * threadIdx.x + 1]);
    ((float2 *)out)[blockIdx.x * 32 + threadIdx.x] = r;
}

//@ rotate<<<1, 32>>>(x f32[64] random ~1e-3, position i32 17)
extern "C" __global__ void rotate(float *x, int position) {
    float angle = position * powf(10000, -(float)threadIdx.x / 32), s, c;
    sincosf(angle, &s, &c);
    float a = x[threadIdx.x], b = x[threadIdx.x + 32];
    x[threadIdx.x] = a * c - b * s;
    x[threadIdx.x + 32] = a * s + b * c;
}

//@ activations<<<1, 64>>>(x f32[64] range(-4,4), out f32[256] zero ~1e-4)
extern "C" __global__ void activations(const float *x, float *out) {
    float v = x[threadIdx.x], *o = out + threadIdx.x * 4;
    o[0] = fmaxf(v, 0);
    o[1] = v / (1 + __expf(-v));
    o[2] = 0.5f * v * (1 + erff(v * 0.70710678f));
    o[3] = tanhf(v);
}

//@ attend<<<4, 32>>>(q f32[128] random, k f32[512] random, v f32[512] random, out f32[128] zero ~1e-3)
extern "C" __global__ void attend(const float *q, const float *k, const float *v, float *out) {
    int head = blockIdx.x, t = threadIdx.x;
    float m = -INFINITY, s = 0, acc = 0;
    for (int j = 0; j < 4; j++) {
        float score = sumOver(q[head * 32 + t] * k[(head * 4 + j) * 32 + t]) * 0.17677669f;
        float now = fmaxf(m, score), keep = expf(m - now), p = expf(score - now);
        s = s * keep + p;
        acc = acc * keep + p * v[(head * 4 + j) * 32 + t];
        m = now;
    }
    out[head * 32 + t] = acc / s;
}
