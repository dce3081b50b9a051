// Double precision: arithmetic in all roundings, functions, conversions.

//@ arithmetic<<<1, 64>>>(a f64[64] random, b f64[64] range(0.5,2), out f64[640] zero)
extern "C" __global__ void arithmetic(const double *a, const double *b, double *out) {
    int i = threadIdx.x;
    double x = a[i], y = b[i], *o = out + i * 10;
    o[0] = x + y; o[1] = x - y; o[2] = x * y; o[3] = x / y;
    o[4] = __dadd_rd(x, y); o[5] = __dmul_ru(x, y); o[6] = __fma_rz(x, y, 1.0 / 3);
    o[7] = fma(x, y, -x); o[8] = sqrt(y); o[9] = __dsqrt_ru(y);
}

//@ functions<<<1, 64>>>(a f64[64] range(0.1,3), out f64[640] zero ~1e-13)
extern "C" __global__ void functions(const double *a, double *out) {
    int i = threadIdx.x;
    double x = a[i], *o = out + i * 10;
    o[0] = sin(x); o[1] = cos(x); o[2] = exp(x); o[3] = log(x); o[4] = pow(x, 1.7);
    o[5] = atan2(x, 0.3); o[6] = tanh(x); o[7] = erf(x); o[8] = cbrt(x); o[9] = lgamma(x);
}

//@ conversions<<<1, 64>>>(a f64[64] range(-1e5,1e5), out f64[448] zero)
extern "C" __global__ void conversions(const double *a, double *out) {
    int i = threadIdx.x;
    double x = a[i], *o = out + i * 7;
    o[0] = (int)x; o[1] = (float)x; o[2] = (long long)(x * 1e10); o[3] = (unsigned char)(unsigned)fabs(x);
    o[4] = floor(x) + ceil(x) + trunc(x) + rint(x); o[5] = __double2float_rd(x); o[6] = __double2uint_ru(x);
}

//@ kahan<<<1, 32>>>(a f64[1024] random, out f64[32] zero)
extern "C" __global__ void kahan(const double *a, double *out) {
    double sum = 0, lost = 0;
    for (int i = threadIdx.x; i < 1024; i += 32) {
        double y = __dsub_rn(a[i], lost), t = __dadd_rn(sum, y);
        lost = __dsub_rn(__dsub_rn(t, sum), y);
        sum = t;
    }
    out[threadIdx.x] = sum;
}
