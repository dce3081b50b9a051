// y[i] = a * x[i] + y[i], rounded once.
//: axpy_.* <>y*$2 n a:b$2 <x*$2
#include "map.cuh"

DEVICE f64 axpy(f64 a, f64 x, f64 y) { return fma(a, x, y); }
DEVICE f32 axpy(f32 a, f32 x, f32 y) { return fmaf(a, x, y); }
// The product of two 16-bit floats is exact in f32.
template <class T> DEVICE T axpy(T a, T x, T y) { return fromF32<T>(fmaf(toF32(a), toF32(x), toF32(y))); }

template <class T> DEVICE void all(T *y, u64 n, T a, const T *x) {
	map2<16 / sizeof(T), 4>(y, n, x, y, [a](T x, T y) { return axpy(a, x, y); });
}

KERNEL axpy_f16(f16 *y, u64 n, u16 a, const f16 *x) { all(y, n, f16{a}, x); }
KERNEL axpy_bf16(bf16 *y, u64 n, u16 a, const bf16 *x) { all(y, n, bf16{a}, x); }
KERNEL axpy_f32(f32 *y, u64 n, f32 a, const f32 *x) { all(y, n, a, x); }
KERNEL axpy_f64(f64 *y, u64 n, f64 a, const f64 *x) { all(y, n, a, x); }
