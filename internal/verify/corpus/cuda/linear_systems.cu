// Elimination, Cholesky, conjugate gradients: doubles and barriers in loops.

//@ eliminate<<<1, 16>>>(a f64[272] random, x f64[16] zero ~1e-8)
extern "C" __global__ void eliminate(double *a, double *x) {
    __shared__ double m[16][17];
    __shared__ int pivot;
    int t = threadIdx.x;
    for (int j = 0; j < 17; j++) m[t][j] = a[t * 17 + j];
    __syncthreads();
    for (int k = 0; k < 16; k++) {
        if (t == 0) {
            pivot = k;
            for (int i = k + 1; i < 16; i++) if (fabs(m[i][k]) > fabs(m[pivot][k])) pivot = i;
            for (int j = k; j < 17; j++) { double v = m[k][j]; m[k][j] = m[pivot][j]; m[pivot][j] = v; }
        }
        __syncthreads();
        double f = t == k ? 0 : m[t][k] / m[k][k];
        __syncthreads();
        if (t != k) for (int j = k; j < 17; j++) m[t][j] = fma(-f, m[k][j], m[t][j]);
        __syncthreads();
    }
    x[t] = m[t][16] / m[t][t];
}

//@ cholesky<<<1, 12>>>(a f64[144] random, l f64[144] zero ~1e-10)
extern "C" __global__ void cholesky(const double *a, double *l) {
    int t = threadIdx.x;
    __shared__ double s[12][12];
    for (int j = 0; j < 12; j++) {
        double v = t == j ? 10 : 0;
        for (int k = 0; k < 12; k++) v = fma(a[t * 12 + k], a[j * 12 + k], v);
        s[t][j] = v;
    }
    __syncthreads();
    for (int k = 0; k < 12; k++) {
        if (t == k) s[k][k] = sqrt(s[k][k]);
        __syncthreads();
        if (t > k) s[t][k] /= s[k][k];
        __syncthreads();
        if (t > k) for (int j = k + 1; j <= t; j++) s[t][j] -= s[t][k] * s[j][k];
        __syncthreads();
    }
    for (int j = 0; j <= t; j++) l[t * 12 + j] = s[t][j];
}

//@ gradients<<<1, 32>>>(b f32[32] random, x f32[32] zero ~1e-2, steps i32 8)
extern "C" __global__ void gradients(const float *b, float *x, int steps) {
    __shared__ float p[34];
    auto dot = [](float v) { for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d); return v; };
    int t = threadIdx.x;
    float mine = 0, r = b[t], d = r, rr = dot(r * r);
    if (t == 0) p[0] = p[33] = 0;
    while (steps-- > 0) {
        p[t + 1] = d;
        __syncwarp();
        float ad = 4 * d - p[t] - p[t + 2], alpha = rr / dot(d * ad);
        mine += alpha * d;
        r -= alpha * ad;
        float now = dot(r * r);
        d = r + now / rr * d;
        rr = now;
        __syncwarp();
    }
    x[t] = mine;
}
