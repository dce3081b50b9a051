// A tree in dynamic shared memory, with an index beside the value.

struct Best { float value; int index; };

//@ argmax<<<3, 128, 1024>>>(in f32[1500] random, value f32[3] zero, index i32[3] zero, n i32 1500)
extern "C" __global__ void argmax(const float *in, float *value, int *index, int n) {
    extern __shared__ Best best[];
    int t = threadIdx.x;
    Best b = {-1e30f, -1};
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        if (in[i] > b.value) b = Best{in[i], i};
    best[t] = b;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s && best[t + s].value > best[t].value) best[t] = best[t + s];
        __syncthreads();
    }
    if (t == 0) { value[blockIdx.x] = best[0].value; index[blockIdx.x] = best[0].index; }
}

//@ norm2<<<1, 256, 2048>>>(in f64[2000] random, out f64[1] zero ~1e-12, n i32 2000)
extern "C" __global__ void norm2(const double *in, double *out, int n) {
    extern __shared__ double sums[];
    double s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i] * in[i];
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k) sums[threadIdx.x] += sums[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = sqrt(sums[0]);
}
