// Clusters of points: nearest centres, then sums by integer atomics.

//@ assign<<<2, 64>>>(points i16[256] range(-100,100), centres i16[8] range(-80,80), label u8[128] zero, sums i32[8] zero, count u32[4] zero)
extern "C" __global__ void assign(const short2 *points, const short2 *centres, unsigned char *label, int2 *sums, unsigned *count) {
    __shared__ int2 mine[4];
    if (threadIdx.x < 4) mine[threadIdx.x] = make_int2(0, 0);
    __syncthreads();
    int i = blockIdx.x * 64 + threadIdx.x, best = 0x7fffffff, which = 0;
    short2 p = points[i];
    for (int c = 0; c < 4; c++) {
        int dx = p.x - centres[c].x, dy = p.y - centres[c].y, d = dx * dx + dy * dy;
        if (d < best) { best = d; which = c; }
    }
    label[i] = which;
    atomicAdd(&mine[which].x, p.x);
    atomicAdd(&mine[which].y, p.y);
    atomicAdd(&count[which], 1u);
    __syncthreads();
    if (threadIdx.x < 4) {
        atomicAdd(&sums[threadIdx.x].x, mine[threadIdx.x].x);
        atomicAdd(&sums[threadIdx.x].y, mine[threadIdx.x].y);
    }
}

//@ medians<<<1, 32>>>(in f32[160] random, out f32[32] zero)
extern "C" __global__ void medians(const float *in, float *out) {
    float a[5];
    for (int i = 0; i < 5; i++) a[i] = in[threadIdx.x * 5 + i];
    for (int i = 1; i < 5; i++) {
        float v = a[i];
        int j = i;
        for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
        a[j] = v;
    }
    out[threadIdx.x] = a[2];
}
