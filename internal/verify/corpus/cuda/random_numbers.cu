// Counter-based and recurrent generators, and a Monte Carlo estimate.

__device__ uint4 philox(uint4 c, uint2 k) {
    #pragma unroll
    for (int i = 0; i < 10; i++) {
        unsigned h0 = __umulhi(0xd2511f53u, c.x), l0 = 0xd2511f53u * c.x;
        unsigned h1 = __umulhi(0xcd9e8d57u, c.z), l1 = 0xcd9e8d57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
        k.x += 0x9e3779b9;
        k.y += 0xbb67ae85;
    }
    return c;
}

//@ philox_bits<<<2, 32>>>(out u32[256] zero, seed u64 1234567890123)
extern "C" __global__ void philox_bits(uint4 *out, unsigned long long seed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = philox(make_uint4(i, 0, 7, 0), make_uint2((unsigned)seed, seed >> 32));
}

//@ pi<<<4, 64>>>(inside u32[1] zero)
extern "C" __global__ void pi(unsigned *inside) {
    unsigned n = 0;
    for (int i = 0; i < 8; i++) {
        uint4 r = philox(make_uint4(threadIdx.x, blockIdx.x, i, 0), make_uint2(42, 0));
        float x = r.x * 0x1p-32f, y = r.y * 0x1p-32f;
        n += __fmaf_rn(x, x, __fmul_rn(y, y)) <= 1;
    }
    for (int d = 16; d; d /= 2) n += __shfl_xor_sync(~0u, n, d);
    if (threadIdx.x % 32 == 0) atomicAdd(inside, n);
}

//@ normals<<<1, 64>>>(out f32[128] zero ~1e-4)
extern "C" __global__ void normals(float2 *out) {
    uint4 r = philox(make_uint4(threadIdx.x, 1, 2, 3), make_uint2(4, 5));
    float u = (r.x + 1.f) * 0x1p-33f, v = r.y * 0x1p-32f, s, c;
    sincospif(2 * v, &s, &c);
    float m = sqrtf(-2 * logf(u));
    out[threadIdx.x] = make_float2(m * c, m * s);
}

//@ twister<<<1, 1>>>(out u32[16] zero)
extern "C" __global__ void twister(unsigned *out) {
    unsigned s[24] = {5489};
    for (int i = 1; i < 24; i++) s[i] = 1812433253u * (s[i - 1] ^ s[i - 1] >> 30) + i;
    for (int i = 0; i < 16; i++) {
        unsigned y = (s[i] & 0x80000000u) | (s[i + 1] & 0x7fffffffu);
        y = s[i + 7] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        y ^= y >> 11; y ^= y << 7 & 0x9d2c5680u; y ^= y << 15 & 0xefc60000u;
        out[i] = y ^ y >> 18;
    }
}
