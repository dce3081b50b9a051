// Components, parameters and shared memory picked by an index.

//@ components<<<1, 64>>>(in f32[256] random, which u8[64] range(0,4), out f32[64] zero)
extern "C" __global__ void components(const float4 *in, const unsigned char *which, float *out) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = (&v.x)[which[threadIdx.x]];
}

struct Table { short v[16]; };

//@ parameters<<<1, 64>>>(t {a u64 0x0004000300020001, b u64 0x0040003000200010, c u64 0xfffffffefffdfffc, d u64 0x7fff800000ff0100}, which u8[64] range(0,16), out i32[64] zero)
extern "C" __global__ void parameters(const __grid_constant__ Table t, const unsigned char *which, int *out) {
    const Table *p = &t;
    out[threadIdx.x] = t.v[which[threadIdx.x]] + p->v[threadIdx.x & 15];
}

extern __shared__ __align__(16) unsigned char arena[];

//@ carved<<<1, 32, 896>>>(in f64[32] random, out f64[32] zero)
extern "C" __global__ void carved(const double *in, double *out) {
    double *d = (double *)arena;
    float *f = (float *)(d + 64);
    unsigned char *b = (unsigned char *)(f + 64);
    d[threadIdx.x] = in[threadIdx.x];
    d[32 + threadIdx.x] = -in[threadIdx.x];
    f[threadIdx.x] = in[threadIdx.x] * 3;
    b[threadIdx.x] = threadIdx.x * 5;
    __syncthreads();
    out[threadIdx.x] = d[b[threadIdx.x] % 64] + f[b[31 - threadIdx.x] % 32];
}
