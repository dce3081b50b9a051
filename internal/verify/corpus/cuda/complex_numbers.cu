// Complex arithmetic with operators, roots of polynomials.

template <class T> struct Complex {
    T re, im;
    __device__ Complex(T r = 0, T i = 0) : re(r), im(i) {}
    __device__ Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
    __device__ Complex operator-(Complex o) const { return {re - o.re, im - o.im}; }
    __device__ Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    __device__ Complex operator/(Complex o) const {
        T d = o.re * o.re + o.im * o.im;
        return {(re * o.re + im * o.im) / d, (im * o.re - re * o.im) / d};
    }
};

//@ evaluate<<<1, 32>>>(z f64[64] random, c f64[10] random, out f64[64] zero ~1e-10)
extern "C" __global__ void evaluate(const Complex<double> *z, const Complex<double> *c, Complex<double> *out) {
    Complex<double> v;
    for (int i = 0; i < 5; i++) v = v * z[threadIdx.x] + c[i];
    out[threadIdx.x] = v / (z[threadIdx.x] + Complex<double>(3, 1));
}

//@ newton<<<1, 64>>>(z f32[128] random ~1e-2, roots i32[64] zero)
extern "C" __global__ void newton(Complex<float> *z, int *roots) {
    Complex<float> x = z[threadIdx.x];
    for (int i = 0; i < 40; i++) x = x - (x * x * x - Complex<float>(1)) / (Complex<float>(3) * x * x);
    z[threadIdx.x] = x;
    roots[threadIdx.x] = x.re > 0 ? 0 : x.im > 0 ? 1 : 2;
}
