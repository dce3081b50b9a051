// A fast Fourier transform of 256 points in shared memory.

//@ fft256<<<2, 128>>>(data f32[1024] random ~1e-3)
extern "C" __global__ void fft256(float2 *data) {
    __shared__ float2 s[256];
    float2 *mine = data + blockIdx.x * 256;
    for (int i = threadIdx.x; i < 256; i += 128) s[__brev(i) >> 24] = mine[i];
    __syncthreads();
    for (int half = 1; half < 256; half *= 2) {
        int k = threadIdx.x % half, i = (threadIdx.x - k) * 2 + k;
        float sn, cs;
        sincospif(-(float)k / half, &sn, &cs);
        float2 a = s[i], b = s[i + half];
        float2 t = make_float2(b.x * cs - b.y * sn, b.x * sn + b.y * cs);
        s[i] = make_float2(a.x + t.x, a.y + t.y);
        s[i + half] = make_float2(a.x - t.x, a.y - t.y);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 256; i += 128) mine[i] = s[i];
}

//@ ntt<<<1, 64>>>(data u32[128] range(0,998244353))
extern "C" __global__ void ntt(unsigned *data) {
    const unsigned p = 998244353;
    __shared__ unsigned s[128];
    auto power = [=](unsigned b, unsigned e) {
        unsigned long long r = 1, x = b;
        for (; e; e >>= 1, x = x * x % p) if (e & 1) r = r * x % p;
        return (unsigned)r;
    };
    for (int i = threadIdx.x; i < 128; i += 64) s[__brev(i) >> 25] = data[i];
    __syncthreads();
    for (int half = 1; half < 128; half *= 2) {
        int k = threadIdx.x % half, i = (threadIdx.x - k) * 2 + k;
        unsigned w = power(power(3, (p - 1) / (2 * half)), k);
        unsigned a = s[i], b = (unsigned)((unsigned long long)s[i + half] * w % p);
        s[i] = (a + b) % p;
        s[i + half] = (a + p - b) % p;
        __syncthreads();
    }
    for (int i = threadIdx.x; i < 128; i += 64) data[i] = s[i];
}
