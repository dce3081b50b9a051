// Matrix products: plain, tiled in shared memory, and with a register block.

//@ plain<<<2x2, 16x16>>>(a f32[1024] random, b f32[1024] random, c f32[1024] zero ~1e-5, n i32 32)
extern "C" __global__ void plain(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}

//@ tiled<<<3x2, 16x16>>>(a f32[1200] random, b f32[1880] random, c f32[1128] zero ~1e-5, m i32 24, n i32 47, k i32 40)
extern "C" __global__ void tiled(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float ta[16][17], tb[16][17];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float s = 0;
    for (int k0 = 0; k0 < k; k0 += 16) {
        ta[ty][tx] = y < m && k0 + tx < k ? a[y * k + k0 + tx] : 0;
        tb[ty][tx] = k0 + ty < k && x < n ? b[(k0 + ty) * n + x] : 0;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 16; i++) s += ta[ty][i] * tb[i][tx];
        __syncthreads();
    }
    if (x < n && y < m) c[y * n + x] = s;
}

//@ blocked<<<1, 16x16>>>(a f64[4096] random, b f64[4096] random, c f64[4096] zero ~1e-12)
extern "C" __global__ void blocked(const double *a, const double *b, double *c) {
    __shared__ double ta[64][8], tb[8][64];
    double sum[4][4] = {};
    int t = threadIdx.y * 16 + threadIdx.x;
    for (int k0 = 0; k0 < 64; k0 += 8) {
        for (int i = t; i < 512; i += 256) {
            ta[i / 8][i % 8] = a[i / 8 * 64 + k0 + i % 8];
            tb[i / 64][i % 64] = b[(k0 + i / 64) * 64 + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 8; k++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += ta[threadIdx.y * 4 + i][k] * tb[k][threadIdx.x * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(threadIdx.y * 4 + i) * 64 + threadIdx.x * 4 + j] = sum[i][j];
}
