// All atomic operations, in all widths, on global and shared memory.

//@ words<<<2, 64>>>(in u32[128] random, out u32[10] const(1000))
extern "C" __global__ void words(const unsigned *in, unsigned *out) {
    unsigned v = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(out, v); atomicSub(out + 1, v); atomicMin(out + 2, v); atomicMax(out + 3, v);
    atomicAnd(out + 4, v | 0xff); atomicOr(out + 5, v & 0xf0f0); atomicXor(out + 6, v);
    atomicInc(out + 7, 2000); atomicDec(out + 8, 900);
    atomicMin((int *)out + 9, (int)v);
}

//@ wide<<<1, 96>>>(in u64[96] random, out u64[8] const(1))
extern "C" __global__ void wide(const unsigned long long *in, unsigned long long *out) {
    unsigned long long v = in[threadIdx.x];
    atomicAdd(out, v); atomicMin(out + 1, v); atomicMax(out + 2, v); atomicAnd(out + 3, ~v);
    atomicOr(out + 4, v); atomicXor(out + 5, v); atomicMax((long long *)out + 6, (long long)v);
    atomicAdd_block(out + 7, v);
}

//@ shared_words<<<1, 128>>>(in i32[128] range(-1000,1000), out i32[6] zero)
extern "C" __global__ void shared_words(const int *in, int *out) {
    __shared__ int s[6];
    if (threadIdx.x < 6) s[threadIdx.x] = 0;
    __syncthreads();
    int v = in[threadIdx.x];
    atomicAdd(s, v); atomicMax(s + 1, v); atomicMin(s + 2, v); atomicXor(s + 3, v);
    atomicExch(s + 4, 77); atomicCAS(s + 5, 0, 55);
    __syncthreads();
    if (threadIdx.x < 6) out[threadIdx.x] = s[threadIdx.x];
}

// Whole numbers add up to the same in any order.
//@ floats<<<2, 64>>>(f f32[1] zero, d f64[1] zero, old i32[1] zero)
extern "C" __global__ void floats(float *f, double *d, int *old) {
    atomicAdd(f, (float)threadIdx.x);
    atomicAdd_system(d, threadIdx.x * 0.5);
    if (atomicAdd(old, 1) == 127) atomicExch(old, -1);
}

__device__ double atomicMul(double *p, double v) {
    unsigned long long old = *(unsigned long long *)p, seen;
    do {
        seen = old;
        old = atomicCAS((unsigned long long *)p, seen, __double_as_longlong(__longlong_as_double(seen) * v));
    } while (old != seen);
    return __longlong_as_double(old);
}

//@ loops<<<1, 64>>>(d f64[2] const(1), f f32[1] const(-5), in f32[64] random, s u16[2] zero)
extern "C" __global__ void loops(double *d, float *f, const float *in, unsigned short *s) {
    atomicMul(d + threadIdx.x % 2, threadIdx.x % 4 < 2 ? 2.0 : 0.5);
    int *p = (int *)f, old = *p;
    float v = in[threadIdx.x];
    while (v > __int_as_float(old)) {
        int seen = atomicCAS(p, old, __float_as_int(v));
        if (seen == old) break;
        old = seen;
    }
    for (unsigned short was = s[1];;) {
        unsigned short seen = atomicCAS(s + 1, was, (unsigned short)(was + 3));
        if (seen == was) break;
        was = seen;
    }
}
