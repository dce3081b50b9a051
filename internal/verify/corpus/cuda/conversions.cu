// Every number to every other kind, with rounding and saturation.

template <class T> __device__ long long through(double v) { return (long long)(T)v; }

//@ narrowing<<<1, 64>>>(in f64[64] range(-120,120), out i64[448] zero)
extern "C" __global__ void narrowing(const double *in, long long *out) {
    double v = in[threadIdx.x];
    long long *o = out + threadIdx.x * 7;
    o[0] = through<signed char>(v); o[1] = through<short>(v * 250); o[2] = through<int>(v * 1e7); o[3] = through<long long>(v * 1e16);
    o[4] = through<unsigned char>(fabs(v)); o[5] = through<unsigned>(fabs(v) * 3e7); o[6] = through<float>(v * 1e3);
}

//@ rounded<<<1, 64>>>(in f32[64] range(-1e10,1e10), out i64[640] zero)
extern "C" __global__ void rounded(const float *in, long long *out) {
    float v = in[threadIdx.x], w = v * 1e-8f;
    long long *o = out + threadIdx.x * 10;
    o[0] = __float2int_rn(w); o[1] = __float2int_rd(w); o[2] = __float2int_ru(w); o[3] = __float2int_rz(w);
    o[4] = __float2uint_rn(v); o[5] = __float2ll_rd(v); o[6] = __float2ull_ru(v); o[7] = __float2int_rz(v);
    o[8] = __float_as_int(__int2float_rz((int)o[5])); o[9] = __double_as_longlong(__ll2double_ru(o[5] * 1234567));
}

//@ integers<<<1, 64>>>(in i64[64] random, out i64[512] zero)
extern "C" __global__ void integers(const long long *in, long long *out) {
    long long v = in[threadIdx.x], *o = out + threadIdx.x * 8;
    o[0] = (signed char)v; o[1] = (unsigned char)v; o[2] = (short)v; o[3] = (unsigned short)v; o[4] = (int)v; o[5] = (unsigned)v;
    o[6] = __float_as_int((float)v); o[7] = __double_as_longlong((double)(unsigned long long)v);
}

//@ bitcasts<<<1, 32>>>(in f64[32] random, out u32[96] zero)
extern "C" __global__ void bitcasts(const double *in, unsigned *out) {
    double v = in[threadIdx.x];
    union { double d; unsigned w[2]; unsigned short h[4]; } u = {v};
    unsigned *o = out + threadIdx.x * 3;
    o[0] = __double2hiint(v) ^ __double2loint(v);
    o[1] = u.w[threadIdx.x & 1] + u.h[threadIdx.x & 3];
    o[2] = __double_as_longlong(__hiloint2double(u.w[0], u.w[1])) >> 32;
}
