// Transposes: through padded shared memory, in place, and of bytes by permutes.

//@ through_shared<<<2x3, 32x8>>>(in f32[6144] random, out f32[6144] zero, w i32 64, h i32 96)
extern "C" __global__ void through_shared(const float *in, float *out, int w, int h) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

//@ in_place<<<1, 16x16>>>(data u16[1024] random, n i32 32)
extern "C" __global__ void in_place(unsigned short *data, int n) {
    for (int y = threadIdx.y; y < n; y += 16)
        for (int x = threadIdx.x; x < y; x += 16) {
            unsigned short t = data[y * n + x];
            data[y * n + x] = data[x * n + y];
            data[x * n + y] = t;
        }
}

//@ bytes4<<<1, 32>>>(in u32[128] random, out u32[128] zero)
extern "C" __global__ void bytes4(const uint4 *in, uint4 *out) {
    uint4 v = in[threadIdx.x], r;
    unsigned a = __byte_perm(v.x, v.y, 0x5140), b = __byte_perm(v.z, v.w, 0x5140);
    unsigned c = __byte_perm(v.x, v.y, 0x7362), d = __byte_perm(v.z, v.w, 0x7362);
    r.x = __byte_perm(a, b, 0x5410); r.y = __byte_perm(a, b, 0x7632);
    r.z = __byte_perm(c, d, 0x5410); r.w = __byte_perm(c, d, 0x7632);
    out[threadIdx.x] = r;
}
