// Single precision: roundings, special values, classification, minimum and maximum.

__constant__ unsigned odd[16] = {0, 0x80000000, 0x7f800000, 0xff800000, 1, 0x007fffff, 0x00800000, 0x7f7fffff,
    0x3f800000, 0xbf800000, 0x3f800001, 0x4b800000, 0x4b000001, 0xcb000001, 0x33800000, 0x5f000000};

//@ arithmetic<<<16, 16>>>(out u32[2048] zero)
extern "C" __global__ void arithmetic(unsigned *out) {
    float x = __uint_as_float(odd[blockIdx.x]), y = __uint_as_float(odd[threadIdx.x]);
    unsigned *o = out + (blockIdx.x * 16 + threadIdx.x) * 8;
    auto bits = [](float f) { return f != f ? 0x7fffffffu : __float_as_uint(f); };
    o[0] = bits(__fadd_rz(x, y)); o[1] = bits(__fmul_ru(x, y)); o[2] = bits(__fmaf_rd(x, y, 1.f)); o[3] = bits(__fdiv_rn(x, y));
    o[4] = bits(fminf(x, y)); o[5] = bits(fmaxf(x, y)); o[6] = bits(copysignf(x, y)); o[7] = (x < y) | (x == y) << 1 | (x != y) << 2 | !(x >= y) << 3;
}

//@ classes<<<1, 16>>>(out u32[64] zero)
extern "C" __global__ void classes(unsigned *out) {
    float x = __uint_as_float(odd[threadIdx.x]);
    unsigned *o = out + threadIdx.x * 4;
    o[0] = isnan(x) | isinf(x) << 1 | isfinite(x) << 2 | signbit(x) << 3;
    o[1] = __float_as_uint(__fsqrt_rn(fabsf(x)));
    o[2] = __float2int_rn(x);
    o[3] = __float_as_uint(nextafterf(x, 2));
}

//@ rounding<<<1, 64>>>(in f32[64] range(-9,9), out f32[512] zero)
extern "C" __global__ void rounding(const float *in, float *out) {
    float x = in[threadIdx.x], *o = out + threadIdx.x * 8, whole;
    int e;
    o[0] = floorf(x); o[1] = ceilf(x); o[2] = truncf(x); o[3] = rintf(x); o[4] = roundf(x);
    o[5] = modff(x, &whole) + whole; o[6] = frexpf(x, &e) + e; o[7] = ldexpf(x, 5) + fmodf(x, 0.75f) + remainderf(x, 2);
}
