// Intrinsics on bits, bytes and wide products.

//@ counts<<<1, 64>>>(a u32[64] random, w u64[64] random, out u32[640] zero)
extern "C" __global__ void counts(const unsigned *a, const unsigned long long *w, unsigned *out) {
    int i = threadIdx.x;
    unsigned x = a[i] >> i % 32, *o = out + i * 10;
    unsigned long long y = w[i] >> i;
    o[0] = __popc(x); o[1] = __clz(x); o[2] = __brev(x); o[3] = __ffs(x); o[4] = __popcll(y);
    o[5] = __clzll(y); o[6] = __brevll(y) >> 32; o[7] = __ffsll(y); o[8] = __fns(x, 0, 3); o[9] = x & -x;
}

//@ bytes<<<1, 64>>>(a u32[64] random, b u32[64] random, out u32[640] zero)
extern "C" __global__ void bytes(const unsigned *a, const unsigned *b, unsigned *out) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i], *o = out + i * 10;
    o[0] = __byte_perm(x, y, 0x3715); o[1] = __funnelshift_l(x, y, 13); o[2] = __funnelshift_rc(x, y, i);
    o[3] = __dp4a(x, y, 17u); o[4] = __dp4a((int)x, (int)y, -3); o[5] = __dp2a_lo((int)x, (int)y, 5);
    o[6] = __vadd4(x, y); o[7] = __vmaxu2(x, y); o[8] = __vabsdiffs4(x, y); o[9] = __vcmpgtu4(x, y);
}

//@ products<<<1, 64>>>(a u32[64] random, b u32[64] random, out u64[512] zero)
extern "C" __global__ void products(const unsigned *a, const unsigned *b, unsigned long long *out) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    unsigned long long *o = out + i * 8;
    o[0] = __umulhi(x, y); o[1] = __mulhi((int)x, (int)y); o[2] = (unsigned long long)x * y;
    o[3] = (long long)(int)x * (int)y; o[4] = __mul24(x, y); o[5] = __umul24(x, y);
    o[6] = __mul64hi((long long)x << 31, (long long)(int)y << 29); o[7] = __usad(x, y, 3) + __sad((int)x, (int)y, 1) + __hadd((int)x, (int)y) + __urhadd(x, y);
}

//@ divisions<<<1, 64>>>(a u64[64] random, b u64[64] random, out u64[512] zero)
extern "C" __global__ void divisions(const unsigned long long *a, const unsigned long long *b, unsigned long long *out) {
    int i = threadIdx.x;
    unsigned long long x = a[i], y = b[i] >> i % 60 | 1, *o = out + i * 8;
    o[0] = x / y; o[1] = x % y; o[2] = (long long)x / (long long)y; o[3] = (long long)x % (long long)y;
    o[4] = (unsigned)x / ((unsigned)y | 1); o[5] = (int)x % (int)((unsigned)y | 1); o[6] = x / 10; o[7] = (int)x / 7;
}
