// Stencils in one, two and three dimensions.

//@ stencil1<<<4, 64>>>(in f32[256] random, out f32[256] zero ~1e-6, n i32 256)
extern "C" __global__ void stencil1(const float *__restrict__ in, float *__restrict__ out, int n) {
    __shared__ float s[64 + 6];
    int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + 3;
    s[t] = in[i];
    if (threadIdx.x < 3) {
        s[t - 3] = i >= 3 ? in[i - 3] : 0;
        s[t + 64] = i + 64 < n ? in[i + 64] : 0;
    }
    __syncthreads();
    float v = 0;
    #pragma unroll
    for (int d = -3; d <= 3; d++) v += s[t + d] * (4 - (d < 0 ? -d : d));
    out[i] = v;
}

//@ heat2<<<2x2, 16x8>>>(in f32[512] random, out f32[512] zero ~1e-5, w i32 32, h i32 16, c f32 0.2)
extern "C" __global__ void heat2(const float *in, float *out, int w, int h, float c) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int i = y * w + x;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { out[i] = in[i]; return; }
    out[i] = in[i] + c * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w] - 4 * in[i]);
}

//@ box3<<<1x1x2, 8x8x4>>>(in i32[512] range(0,1000), out i32[512] zero, n i32 8)
extern "C" __global__ void box3(const int *in, int *out, int n) {
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z, s = 0;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int X = x + dx, Y = y + dy, Z = z + dz;
                if (X >= 0 && Y >= 0 && Z >= 0 && X < n && Y < n && Z < n) s += in[(Z * n + Y) * n + X];
            }
    out[(z * n + y) * n + x] = s / 27;
}
