// Eight and four bits: scales per block, packed products.

//@ quantise<<<4, 32>>>(in f32[128] random, q i8[128] zero, scale f32[4] zero)
extern "C" __global__ void quantise(const float *in, signed char *q, float *scale) {
    int i = blockIdx.x * 32 + threadIdx.x;
    float v = in[i], m = fabsf(v);
    for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    float s = m / 127;
    q[i] = s > 0 ? __float2int_rn(v / s) : 0;
    if (threadIdx.x == 0) scale[blockIdx.x] = s;
}

//@ dot8<<<1, 32>>>(a u32[256] random, b u32[256] random, out i32[32] zero)
extern "C" __global__ void dot8(const int *a, const int *b, int *out) {
    int s = 0;
    #pragma unroll
    for (int i = 0; i < 8; i++) s = __dp4a(a[i * 32 + threadIdx.x], b[i * 32 + threadIdx.x], s);
    out[threadIdx.x] = s;
}

//@ nibbles<<<1, 64>>>(packed u8[64] random, scale f32 0.125, out f32[128] zero)
extern "C" __global__ void nibbles(const unsigned char *packed, float scale, float *out) {
    unsigned char p = packed[threadIdx.x];
    out[2 * threadIdx.x] = ((p & 15) - 8) * scale;
    out[2 * threadIdx.x + 1] = ((p >> 4) - 8) * scale;
}

//@ bit_serial<<<1, 32>>>(a u32[128] random, b u32[128] random, out i32[32] zero)
extern "C" __global__ void bit_serial(const uint4 *a, const uint4 *b, int *out) {
    uint4 x = a[threadIdx.x], y = b[threadIdx.x];
    out[threadIdx.x] = 128 - 2 * (__popc(x.x ^ y.x) + __popc(x.y ^ y.y) + __popc(x.z ^ y.z) + __popc(x.w ^ y.w));
}
