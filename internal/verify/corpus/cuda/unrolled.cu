// Loops with what the programmer says about unrolling, and odd control flow.

//@ unrolls<<<1, 64>>>(in f32[64] random, out f32[256] zero, n i32 37)
extern "C" __global__ void unrolls(const float *in, float *out, int n) {
    float a = in[threadIdx.x], b = a, c = a, d = a;
    #pragma unroll 1
    for (int i = 0; i < 16; i++) a = fmaf(a, 0.9f, in[i]);
    #pragma unroll 4
    for (int i = 0; i < n; i++) b = fmaf(b, 0.9f, in[i]);
    #pragma unroll
    for (int i = 0; i < 10; i++) c = fmaf(c, 1.1f, -in[i]);
    #pragma unroll(1)
    while (d > -20) d -= 1.25f;
    float *o = out + threadIdx.x * 4;
    o[0] = a; o[1] = b; o[2] = c; o[3] = d;
}

//@ jumps<<<1, 64>>>(in u32[64] range(1,1000), out u32[64] zero)
extern "C" __global__ void jumps(const unsigned *in, unsigned *out) {
    unsigned n = in[threadIdx.x], steps = 0, i = 0;
again:
    if (n == 1) goto done;
    if (n & 1) goto odd;
    n /= 2;
    goto next;
odd:
    n = 3 * n + 1;
    for (i = 0; i < 3; i++) {
        if (n % 5 == i) goto next;
        for (unsigned j = 0; j < i; j++)
            if ((n + j) % 7 == 0) goto next;
    }
next:
    steps++;
    if (steps < 500) goto again;
done:
    out[threadIdx.x] = steps * 8 + i;
}

//@ early<<<2, 64>>>(in i32[128] range(-10,10), out i32[128] const(-1), n i32 100)
extern "C" __global__ void early(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = in[i];
    do {
        if (v < 0) { out[i] = v; return; }
        if (v % 4 == 3) break;
        if (v == 8) continue;
        v++;
    } while (v++ < 9);
    out[i] = v * 10;
}
