// Escape times, in float and in fixed point.

//@ mandelbrot<<<2x2, 16x8>>>(out u8[512] zero, w i32 32, x0 f32 -2, y0 f32 -1, step f32 0.09375)
extern "C" __global__ void mandelbrot(unsigned char *out, int w, float x0, float y0, float step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float cr = __fadd_rn(x0, __fmul_rn(x, step)), ci = __fadd_rn(y0, __fmul_rn(y, step)), r = 0, i = 0;
    int n = 0;
    for (; n < 100; n++) {
        float rr = __fmul_rn(r, r), ii = __fmul_rn(i, i);
        if (__fadd_rn(rr, ii) > 4) break;
        i = __fmaf_rn(2 * r, i, ci);
        r = __fadd_rn(__fsub_rn(rr, ii), cr);
    }
    out[y * w + x] = n;
}

//@ fixed<<<1x4, 32x4>>>(out u8[512] zero)
extern "C" __global__ void fixed(unsigned char *out) {
    int x = threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    long long cr = (x - 24ll) << 24, ci = (y - 8ll) << 25, r = 0, i = 0;
    int n = 0;
    while (n < 60 && r * r + i * i < (4ll << 56)) {
        long long t = ((r * r - i * i) >> 28) + cr;
        i = (r * i >> 27) + ci;
        r = t;
        n++;
    }
    out[y * 32 + x] = n;
}
