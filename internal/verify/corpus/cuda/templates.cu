// Template kernels, known by their mangled names, and variadic templates.

template <class T, int N> struct Window {
    T v[N];
    __device__ T sum() const {
        T s{};
        #pragma unroll
        for (int i = 0; i < N; i++) s += v[i];
        return s;
    }
};

template <class T, int N> __global__ void smooth(const T *in, T *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + N > n) return;
    Window<T, N> w;
    for (int j = 0; j < N; j++) w.v[j] = in[i + j];
    out[i] = w.sum() / N;
}

//@ _Z6smoothIfLi4EEvPKT_PS0_i<<<2, 64>>>(in f32[100] random, out f32[128] zero, n i32 100)
template __global__ void smooth<float, 4>(const float *, float *, int);
//@ _Z6smoothIlLi3EEvPKT_PS0_i<<<1, 64>>>(in i64[64] range(-1000,1000), out i64[64] zero, n i32 64)
template __global__ void smooth<long, 3>(const long *, long *, int);
//@ _Z6smoothIhLi8EEvPKT_PS0_i<<<1, 64>>>(in u8[64] random, out u8[64] zero, n i32 64)
template __global__ void smooth<unsigned char, 8>(const unsigned char *, unsigned char *, int);

template <class T> __device__ T most(T a) { return a; }
template <class T, class... R> __device__ T most(T a, R... rest) {
    T b = most(rest...);
    return a > b ? a : b;
}

//@ most_of_five<<<1, 32>>>(in f64[160] random, out f64[32] zero)
extern "C" __global__ void most_of_five(const double *in, double *out) {
    const double *p = in + threadIdx.x * 5;
    out[threadIdx.x] = most(p[0], p[1], p[2], p[3], p[4]);
}

__device__ constexpr int triangle(int n) { return n == 0 ? 0 : n + triangle(n - 1); }

//@ folded<<<1, 4>>>(out i32[4] zero)
extern "C" __global__ void folded(int *out) {
    constexpr int t[4] = {triangle(3), triangle(10), triangle(20), triangle(50)};
    out[threadIdx.x] = t[threadIdx.x];
}
