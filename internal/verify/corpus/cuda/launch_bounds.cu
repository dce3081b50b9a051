// What a kernel promises about its launches, and limits of registers.

//@ bounded<<<2, 128>>>(in f32[256] random, out f32[256] zero)
extern "C" __global__ __launch_bounds__(128) void bounded(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * in[255 - i];
}

//@ occupied<<<1, 256>>>(in f32[256] random, out f32[256] zero)
extern "C" __global__ __launch_bounds__(256, 4) void occupied(const float *in, float *out) {
    float v[16];
    #pragma unroll
    for (int i = 0; i < 16; i++) v[i] = in[(threadIdx.x * 7 + i * 13) & 255];
    #pragma unroll
    for (int i = 1; i < 16; i++) v[i] = fmaf(v[i - 1], 0.5f, v[i]);
    out[threadIdx.x] = v[15] + v[7];
}

template <int N> __global__ __launch_bounds__(N) void sized(int *out) { out[threadIdx.x] = N - threadIdx.x; }
//@ _Z5sizedILi32EEvPi<<<1, 32>>>(out i32[32] zero)
template __global__ void sized<32>(int *);
//@ _Z5sizedILi96EEvPi<<<1, 96>>>(out i32[96] zero)
template __global__ void sized<96>(int *);
