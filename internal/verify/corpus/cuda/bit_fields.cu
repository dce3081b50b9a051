// Bit fields, unions, packed structs and enums in memory.

struct Packed { unsigned a : 5; int b : 11; unsigned c : 16; unsigned long long d : 40; long long e : 24; };

//@ fields<<<1, 32>>>(in u64[64] random, out i64[32] zero)
extern "C" __global__ void fields(const Packed *in, long long *out) {
    Packed p = in[threadIdx.x];
    p.b -= p.a;
    p.e = p.e / 3 + p.c;
    p.d += p.b;
    out[threadIdx.x] = p.a + p.b * 100ll + p.c * 7ll + (long long)p.d + p.e * 13;
}

#pragma pack(push, 1)
struct Tight { unsigned char tag; int v; short w; double d; };
#pragma pack(pop)

//@ tight<<<1, 16>>>(in u8[240] range(0,64), out f64[16] zero)
extern "C" __global__ void tight(const Tight *in, double *out) {
    Tight t = in[threadIdx.x];
    out[threadIdx.x] = t.tag + t.v * 0.5 + t.w + (t.d > 0 ? 1 : 2);
}

enum class Colour : unsigned char { Red = 1, Green = 4, Blue = 9 };
union Value { float f; unsigned u; unsigned char b[4]; };

//@ unions<<<1, 32>>>(in f32[32] random, out u32[32] zero)
extern "C" __global__ void unions(const float *in, unsigned *out) {
    Value v;
    v.f = in[threadIdx.x];
    Colour c = v.b[1] & 1 ? Colour::Red : v.b[2] & 2 ? Colour::Green : Colour::Blue;
    v.b[threadIdx.x & 3] = (unsigned char)c;
    out[threadIdx.x] = v.u;
}
