// Lambdas and functors, with captures by value and by reference.

template <class F> __device__ void forEach(int n, F f) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) f(i);
}

struct Affine {
    float a, b;
    __device__ float operator()(float x) const { return fmaf(a, x, b); }
};

template <class F, class G> struct Then {
    F f; G g;
    __device__ float operator()(float x) const { return g(f(x)); }
};

//@ captured<<<1, 64>>>(in f32[200] random, out f32[200] zero, a f32 1.5, n i32 200)
extern "C" __global__ void captured(const float *in, float *out, float a, int n) {
    int used = 0;
    auto scale = [=](float x) { return a * x; };
    forEach(n, [&](int i) { out[i] = scale(in[i]) + used++; });
}

//@ composed<<<1, 64>>>(in f32[64] random, out f32[64] zero)
extern "C" __global__ void composed(const float *in, float *out) {
    Then<Affine, Then<Affine, Affine>> f{{2, 1}, {{-1, 0.5f}, {0.25f, 3}}};
    out[threadIdx.x] = f(in[threadIdx.x]);
}

//@ generic<<<1, 32>>>(out i64[32] zero)
extern "C" __global__ void generic(long long *out) {
    auto power = [](auto x, int n) { auto r = x; while (--n > 0) r *= x; return r; };
    out[threadIdx.x] = power(3, 5) + power(2ll, threadIdx.x + 1) + (long long)power(1.5, 2);
}
