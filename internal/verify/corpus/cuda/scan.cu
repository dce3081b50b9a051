// Prefix sums: by shuffles, and in shared memory with up and down sweeps.

__device__ int warpScan(int v) {
    int lane = threadIdx.x & 31;
    for (int d = 1; d < 32; d *= 2) {
        int o = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += o;
    }
    return v;
}

//@ inclusive<<<1, 256>>>(in i32[256] range(-10,10), out i32[256] zero)
extern "C" __global__ void inclusive(const int *in, int *out) {
    __shared__ int sums[8];
    int t = threadIdx.x, v = warpScan(in[t]);
    if ((t & 31) == 31) sums[t >> 5] = v;
    __syncthreads();
    for (int w = 0; w < t >> 5; w++) v += sums[w];
    out[t] = v;
}

//@ exclusive<<<1, 128>>>(data u32[256] range(0,100))
extern "C" __global__ void exclusive(unsigned *data) {
    __shared__ unsigned s[256];
    int t = threadIdx.x, offset = 1;
    s[2 * t] = data[2 * t];
    s[2 * t + 1] = data[2 * t + 1];
    for (int d = 128; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    }
    if (t == 0) s[255] = 0;
    for (int d = 1; d < 256; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            unsigned v = s[a];
            s[a] = s[b];
            s[b] += v;
        }
    }
    __syncthreads();
    data[2 * t] = s[2 * t];
    data[2 * t + 1] = s[2 * t + 1];
}
