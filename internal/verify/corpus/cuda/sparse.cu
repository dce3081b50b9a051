// Sparse matrices: by rows, by rows with a warp each, by coordinates.

// Row i has i%5+1 entries; they begin at the sum of the earlier rows' counts.
__device__ int begin(int row) { return row / 5 * 15 + (row % 5) * (row % 5 + 1) / 2; }

//@ csr<<<1, 64>>>(value f32[192] random, column u16[192] range(0,64), x f32[64] random, y f32[64] zero)
extern "C" __global__ void csr(const float *value, const unsigned short *column, const float *__restrict__ x, float *y) {
    float s = 0;
    for (int i = begin(threadIdx.x); i < begin(threadIdx.x + 1); i++) s = fmaf(value[i], x[column[i]], s);
    y[threadIdx.x] = s;
}

//@ csr_warp<<<2, 128>>>(value f64[200] random, column i32[200] range(0,50), row i32[9] ramp(0,25), x f64[50] random, y f64[8] zero)
extern "C" __global__ void csr_warp(const double *value, const int *column, const int *row, const double *x, double *y) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    double s = 0;
    for (int i = row[r] + lane; i < row[r + 1]; i += 32) s = fma(value[i], __ldg(&x[column[i]]), s);
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (lane == 0) y[r] = s;
}

//@ coordinates<<<2, 64>>>(row u8[128] range(0,16), column u8[128] range(0,16), value i32[128] range(-20,20), x i32[16] range(-9,9), y i32[16] zero)
extern "C" __global__ void coordinates(const unsigned char *row, const unsigned char *column, const int *value, const int *x, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&y[row[i]], value[i] * x[column[i]]);
}
