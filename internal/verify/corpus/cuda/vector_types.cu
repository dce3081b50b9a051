// Vectors of all element types, loaded and stored whole.

//@ saxpy4<<<2, 32>>>(x f32[256] random, y f32[256] random, a f32 0.75)
extern "C" __global__ void saxpy4(const float4 *__restrict__ x, float4 *y, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 u = x[i], v = y[i];
    v.x = fmaf(a, u.x, v.x); v.y = fmaf(a, u.y, v.y); v.z = fmaf(a, u.z, v.z); v.w = fmaf(a, u.w, v.w);
    y[i] = v;
}

//@ pixels<<<1, 64>>>(in u8[256] random, out u8[256] zero)
extern "C" __global__ void pixels(const uchar4 *in, uchar4 *out) {
    uchar4 p = in[threadIdx.x];
    unsigned char grey = (p.x * 77 + p.y * 150 + p.z * 29) >> 8;
    out[threadIdx.x] = make_uchar4(grey, 255 - grey, p.z > 127 ? p.x : p.y, p.w);
}

//@ mixed<<<1, 32>>>(s i16[64] random, d f64[64] random, l i64[64] random, c i8[96] random, out f64[64] zero)
extern "C" __global__ void mixed(const short2 *s, const double2 *d, const longlong2 *l, const char3 *c, double2 *out) {
    int i = threadIdx.x;
    double2 v = d[i];
    v.x += s[i].x;
    v.y -= s[i].y;
    v.x *= (double)(l[i].x >> 40);
    v.y += c[i].x * 100 + c[i].y * 10 + c[i].z + (double)(l[i].y & 0xff);
    out[i] = v;
}

//@ unaligned<<<1, 32>>>(in u8[200] random, out u32[32] zero)
extern "C" __global__ void unaligned(const unsigned char *in, unsigned *out) {
    const unsigned char *p = in + threadIdx.x * 5 + 1;
    unsigned v;
    memcpy(&v, p, 4);
    ushort2 h = *(const ushort2 *)(in + threadIdx.x * 4);
    out[threadIdx.x] = v ^ (h.x * 3u + h.y);
}
