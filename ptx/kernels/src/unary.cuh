// dst[i] = f(src[i]).
#pragma once
#include "map.cuh"

// 16-bit floats are computed in f32 and rounded at the end. One pack at a time
// keeps the code short: most of these are bound by arithmetic.
template <class T, class F> DEVICE void unary(T *dst, const T *src, u64 n, F f) {
	map<16 / sizeof(T), 1>(dst, n, src, [f](T x) { return fromF32<T>(f(toF32(x))); });
}
template <class F> DEVICE void unary(f64 *dst, const f64 *src, u64 n, F f) {
	for (u64 i = threadNumber(); i < n; i += threadCount()) dst[i] = f(src[i]);
}

// The functions for f32, and for f64.
DEVICE f32 expOf(f32 x) { return expf(x); }
DEVICE f64 expOf(f64 x) { return exp(x); }
DEVICE f32 logOf(f32 x) { return logf(x); }
DEVICE f64 logOf(f64 x) { return log(x); }
DEVICE f32 tanhOf(f32 x) { return tanhf(x); }
DEVICE f64 tanhOf(f64 x) { return tanh(x); }
DEVICE f32 sqrtOf(f32 x) { return __fsqrt_rn(x); }
DEVICE f64 sqrtOf(f64 x) { return __dsqrt_rn(x); }
DEVICE f32 rsqrtOf(f32 x) { return rsqrtf(x); }
DEVICE f64 rsqrtOf(f64 x) { return rsqrt(x); }
DEVICE f32 cdfOf(f32 x) { return normcdff(x); }
DEVICE f64 cdfOf(f64 x) { return normcdf(x); }
DEVICE f32 absOf(f32 x) { return fabsf(x); }
DEVICE f64 absOf(f64 x) { return fabs(x); }
// 1 ulp for the reciprocal and a rounding, without the slow path of a division.
DEVICE f32 quotient(f32 a, f32 b) {
	f32 r;
	asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(b));
	return a * r;
}
DEVICE f64 quotient(f64 a, f64 b) { return __ddiv_rn(a, b); }

template <class R> DEVICE R reluOf(R x) { return x < 0 ? 0 : x; } // NaN stays NaN
template <class R> DEVICE R sigmoidOf(R x) { return quotient(R(1), 1 + expOf(-x)); }
template <class R> DEVICE R siluOf(R x) { return quotient(x, 1 + expOf(-x)); }
// 0.5 (1 + tanh u) is the sigmoid of 2u, which keeps its digits where the sum
// loses them.
template <class R> DEVICE R geluTanhOf(R x) {
	return quotient(x, 1 + expOf(x * (R(-1.5957691216057308) + R(-0.07135481627260025) * (x * x))));
}
template <class R> DEVICE R geluOf(R x) { return x * cdfOf(x); }

#define UNARY(T, name, f) \
	KERNEL name##_##T(T *dst, u64 n, const T *src) { unary(dst, src, n, [](auto x) { return f(x); }); }
#define ALL(T) \
	UNARY(T, neg, -) UNARY(T, abs, absOf) UNARY(T, relu, reluOf) UNARY(T, gelu, geluOf) UNARY(T, gelutanh, geluTanhOf) \
	UNARY(T, silu, siluOf) UNARY(T, sigmoid, sigmoidOf) UNARY(T, tanh, tanhOf) UNARY(T, exp, expOf) UNARY(T, log, logOf) \
	UNARY(T, sqrt, sqrtOf) UNARY(T, rsqrt, rsqrtOf)
