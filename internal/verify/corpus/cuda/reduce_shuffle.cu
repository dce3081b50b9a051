// Sums and extremes by shuffles within a warp, then over a block's warps.

template <class T, class F> __device__ T warpReduce(T v, F f) {
    for (int d = 16; d > 0; d /= 2) v = f(v, __shfl_down_sync(~0u, v, d));
    return v;
}

template <class T, class F> __device__ T blockReduce(T v, T none, F f) {
    __shared__ T part[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    v = warpReduce(v, f);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = lane < blockDim.x / 32 ? part[lane] : none;
    return warpReduce(v, f);
}

//@ sum_f32<<<4, 256>>>(in f32[1000] random, out f32[4] zero, n i32 1000)
extern "C" __global__ void sum_f32(const float *in, float *out, int n) {
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
    v = blockReduce(v, 0.f, [](float a, float b) { return a + b; });
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}

//@ max_i32<<<2, 128>>>(in i32[777] random, out i32[2] zero, n i32 777)
extern "C" __global__ void max_i32(const int *in, int *out, int n) {
    int v = 0x80000000;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v = max(v, in[i]);
    v = blockReduce(v, (int)0x80000000, [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}

//@ min_f64<<<1, 96>>>(in f64[300] random, out f64[1] zero, n i32 300)
extern "C" __global__ void min_f64(const double *in, double *out, int n) {
    double v = 1e300;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v = fmin(v, in[i]);
    v = blockReduce(v, 1e300, [](double a, double b) { return fmin(a, b); });
    if (threadIdx.x == 0) *out = v;
}
