// A stream cipher of additions, rotations and exclusive ors, and base64.

__device__ __forceinline__ void quarter(unsigned &a, unsigned &b, unsigned &c, unsigned &d) {
    a += b; d = __funnelshift_l(d ^ a, d ^ a, 16);
    c += d; b = __funnelshift_l(b ^ c, b ^ c, 12);
    a += b; d = __funnelshift_l(d ^ a, d ^ a, 8);
    c += d; b = __funnelshift_l(b ^ c, b ^ c, 7);
}

//@ chacha<<<1, 16>>>(key u32[8] random, data u32[256] random, nonce u64 77)
extern "C" __global__ void chacha(const unsigned *key, unsigned *data, unsigned long long nonce) {
    unsigned s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
    for (int i = 0; i < 8; i++) s[4 + i] = key[i];
    s[12] = threadIdx.x;
    s[13] = 0;
    s[14] = nonce;
    s[15] = nonce >> 32;
    #pragma unroll
    for (int i = 0; i < 16; i++) x[i] = s[i];
    for (int i = 0; i < 10; i++) {
        quarter(x[0], x[4], x[8], x[12]); quarter(x[1], x[5], x[9], x[13]);
        quarter(x[2], x[6], x[10], x[14]); quarter(x[3], x[7], x[11], x[15]);
        quarter(x[0], x[5], x[10], x[15]); quarter(x[1], x[6], x[11], x[12]);
        quarter(x[2], x[7], x[8], x[13]); quarter(x[3], x[4], x[9], x[14]);
    }
    #pragma unroll
    for (int i = 0; i < 16; i++) data[threadIdx.x * 16 + i] ^= x[i] + s[i];
}

__device__ const char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

//@ base64<<<1, 32>>>(in u8[96] random, out u8[128] zero)
extern "C" __global__ void base64(const unsigned char *in, uchar4 *out) {
    const unsigned char *p = in + threadIdx.x * 3;
    unsigned v = p[0] << 16 | p[1] << 8 | p[2];
    out[threadIdx.x] = make_uchar4(alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63], alphabet[v & 63]);
}
