// Gravitation with vector types and a fast inverse square root.

//@ forces<<<2, 64>>>(pos f32[512] random, acc f32[512] zero ~1e-3, n i32 128, soft f32 0.01)
extern "C" __global__ void forces(const float4 *pos, float4 *acc, int n, float soft) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = pos[i];
    float3 a = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += 64) {
        tile[threadIdx.x] = pos[base + threadIdx.x];
        __syncthreads();
        #pragma unroll 8
        for (int j = 0; j < 64; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + soft);
            float s = (tile[j].w + 2) * inv * inv * inv;
            a.x += dx * s;
            a.y += dy * s;
            a.z += dz * s;
        }
        __syncthreads();
    }
    acc[i] = make_float4(a.x, a.y, a.z, 0);
}

//@ energy<<<1, 32>>>(pos f64[96] random, out f64[32] zero ~1e-10)
extern "C" __global__ void energy(const double3 *pos, double *out) {
    double e = 0;
    double3 me = pos[threadIdx.x];
    for (int j = 0; j < 32; j++) {
        if (j == threadIdx.x) continue;
        double3 o = pos[j];
        double dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
        e -= rsqrt(dx * dx + dy * dy + dz * dz);
    }
    out[threadIdx.x] = e;
}
