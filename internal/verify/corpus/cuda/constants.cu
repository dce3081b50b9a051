// Constant memory: initialised, set from outside, indexed by threads.

struct Rule { int add; float scale; unsigned char tag[3]; };

__constant__ Rule rules[3] = {{1, 0.5f, {'a', 'b', 'c'}}, {-7, 2.f, {'x', 'y', 'z'}}, {100, -1.f, {1, 2, 3}}};
__constant__ float coefficients[8];
__constant__ double pi = 3.141592653589793;
__constant__ const char *names[2] = {"first", "second"};

//@ apply<<<1, 32>>>(in i32[32] range(-9,9), out f32[32] zero, tags u8[32] zero)
extern "C" __global__ void apply(const int *in, float *out, unsigned char *tags) {
    const Rule &r = rules[threadIdx.x % 3];
    out[threadIdx.x] = (in[threadIdx.x] + r.add) * r.scale;
    tags[threadIdx.x] = r.tag[threadIdx.x % 2 + 1];
}

//@ set coefficients f32[8] random
//@ polynomial<<<1, 64>>>(in f32[64] random, out f32[64] zero)
//@ set coefficients f32[8] ramp(1,0.5)
//@ polynomial<<<1, 64>>>(in f32[64] random, out f32[64] zero)
extern "C" __global__ void polynomial(const float *in, float *out) {
    float x = in[threadIdx.x], v = 0;
    #pragma unroll
    for (int i = 7; i >= 0; i--) v = fmaf(v, x, coefficients[i]);
    out[threadIdx.x] = v;
}

//@ spelled<<<1, 8>>>(out u8[8] zero, angle f64[1] zero)
extern "C" __global__ void spelled(char *out, double *angle) {
    out[threadIdx.x] = threadIdx.x < 6 ? names[threadIdx.x & 1][threadIdx.x / 2] : '.';
    if (threadIdx.x == 0) *angle = pi / 2;
}
