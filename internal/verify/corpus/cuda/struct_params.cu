// Structs passed by value: nested, with pointers, arrays and odd alignment.

struct Shape { int dim[4]; long long stride[4]; };
struct Tensor { float *data; Shape shape; char kind; };

//@ scatter<<<2, 32>>>(t {data f32[256] zero, shape {d0 i32 2, d1 i32 4, d2 i32 4, d3 i32 2, s0 i64 128, s1 i64 16, s2 i64 4, s3 i64 2}, kind i8 65}, in f32[64] random)
extern "C" __global__ void scatter(Tensor t, const float *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, rest = i;
    long long at = 0;
    for (int d = 3; d >= 0; d--) {
        at += rest % t.shape.dim[d] * t.shape.stride[d];
        rest /= t.shape.dim[d];
    }
    t.data[at] = in[i] + t.kind;
}

struct Small { unsigned char a, b, c; };
struct Mixed { char c; double d; short s; float f[3]; };
struct alignas(16) Wide { float4 v; int n; };

//@ mixed<<<1, 8>>>(s {a u8 1, b u8 2, c u8 3}, m {c i8 -4, d f64 2.5, s i16 -300, f0 f32 1, f1 f32 2, f2 f32 4}, w {v0 f32 1, v1 f32 2, v2 f32 3, v3 f32 4, n i32 9, p0 i32 0, p1 i32 0, p2 i32 0}, i i32 1, out f64[8] zero)
extern "C" __global__ void mixed(Small s, Mixed m, Wide w, int i, double *out) {
    double v[8] = {(double)s.a, s.b + s.c * 1.0, (double)m.c, m.d, (double)m.s, m.f[i], w.v.z, (double)w.n};
    out[threadIdx.x] = v[threadIdx.x];
}

//@ scalars<<<1, 1>>>(b u8 1, c i8 -1, s i16 -2, u u16 65535, l i64 -5000000000, f f32 0.5, d f64 0.125, none null, out f64[8] zero)
extern "C" __global__ void scalars(bool b, char c, short s, unsigned short u, long l, float f, double d, int *none, double *out) {
    out[0] = b; out[1] = c; out[2] = s; out[3] = u; out[4] = l; out[5] = f; out[6] = d; out[7] = none == nullptr;
}

struct Pair { int a; float b; };
__device__ __noinline__ Pair swapped(Pair p) { return Pair{(int)p.b, (float)p.a}; }
__device__ __noinline__ Shape turned(Shape s, int by) {
    Shape r;
    for (int i = 0; i < 4; i++) { r.dim[i] = s.dim[(i + by) & 3]; r.stride[i] = s.stride[(i + by) & 3]; }
    return r;
}

//@ returned<<<1, 16>>>(in i32[16] range(-99,99), out i64[16] zero)
extern "C" __global__ void returned(const int *in, long long *out) {
    Pair p = swapped(Pair{in[threadIdx.x], 7.9f});
    Shape s = turned(Shape{{1, 2, 3, 4}, {10, 20, 30, 40}}, threadIdx.x);
    out[threadIdx.x] = p.a + (int)p.b * 100 + s.dim[0] * 100000 + s.stride[3];
}
