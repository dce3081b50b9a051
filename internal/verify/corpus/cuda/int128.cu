// Integers of 128 bits: what the compiler makes of them.

//@ wide<<<1, 64>>>(a u64[64] random, b u64[64] random, out u64[512] zero)
extern "C" __global__ void wide(const unsigned long long *a, const unsigned long long *b, unsigned long long *out) {
    int i = threadIdx.x;
    unsigned __int128 x = (unsigned __int128)a[i] << 40 | b[i], y = (unsigned __int128)b[i] * a[i] ^ x;
    unsigned long long *o = out + i * 8;
    unsigned __int128 s = x + y, p = x * y, d = y - x, h = y >> (i * 2);
    o[0] = s; o[1] = s >> 64; o[2] = p; o[3] = p >> 64; o[4] = d; o[5] = d >> 64; o[6] = h; o[7] = (x < y) + 2 * (h == s);
}

//@ narrow<<<1, 32>>>(a i64[32] random, out i64[96] zero)
extern "C" __global__ void narrow(const long long *a, long long *out) {
    int i = threadIdx.x;
    __int128 x = (__int128)a[i] * a[(i + 1) % 32];
    out[3 * i] = x / ((a[i] >> 20) | 1);
    out[3 * i + 1] = x % 1000003;
    out[3 * i + 2] = x >> 65;
}

//@ modular<<<1, 32>>>(a u64[32] random, out u64[32] zero, m u64 0xffffffffffffffc5)
extern "C" __global__ void modular(const unsigned long long *a, unsigned long long *out, unsigned long long m) {
    unsigned long long b = a[threadIdx.x] % m, r = 1;
    for (unsigned e = 1000 + threadIdx.x; e; e >>= 1) {
        if (e & 1) r = (unsigned __int128)r * b % m;
        b = (unsigned __int128)b * b % m;
    }
    out[threadIdx.x] = r;
}
