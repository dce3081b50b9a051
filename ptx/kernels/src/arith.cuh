// dst[i] = a[i] op b[i], and the same with a number instead of b.
#pragma once
#include "map.cuh"

enum { Add, Sub, Mul, Div, Max, Min, SubFrom, DivInto };

template <class T> DEVICE T quotient(T a, T b) { return b == 0 ? 0 : (T)-1 < 0 && b == (T)-1 ? (T)(0 - a) : (T)(a / b); }
DEVICE f32 quotient(f32 a, f32 b) { return __fdiv_rn(a, b); }
DEVICE f64 quotient(f64 a, f64 b) { return __ddiv_rn(a, b); }
template <class T> DEVICE T larger(T a, T b) { return a > b ? a : b; }
DEVICE f32 larger(f32 a, f32 b) { return fmaxf(a, b); }
DEVICE f64 larger(f64 a, f64 b) { return fmax(a, b); }
template <class T> DEVICE T smaller(T a, T b) { return a < b ? a : b; }
DEVICE f32 smaller(f32 a, f32 b) { return fminf(a, b); }
DEVICE f64 smaller(f64 a, f64 b) { return fmin(a, b); }

template <int op, class T> DEVICE T apply(T a, T b) {
	switch (op) {
	case Add: return a + b;
	case Sub: return a - b;
	case Mul: return a * b;
	case Div: return quotient(a, b);
	case Max: return larger(a, b);
	case Min: return smaller(a, b);
	case SubFrom: return b - a;
	}
	return quotient(b, a);
}
template <int op> DEVICE f16 apply(f16 a, f16 b) { return fromF32<f16>(apply<op>(toF32(a), toF32(b))); }
template <int op> DEVICE bf16 apply(bf16 a, bf16 b) { return fromF32<bf16>(apply<op>(toF32(a), toF32(b))); }

// rows is for a b that is repeated, with m elements. Nothing is divided after
// the beginning: the place in b moves on by as much each time.
template <int op, class T> DEVICE void rows(T *dst, u64 n, const T *a, const T *b, u64 m) {
	u64 i = threadNumber(), step = threadCount();
	if (i >= n) return;
	u64 j = i % m, on = step % m;
	for (; i < n; i += step) {
		dst[i] = apply<op>(a[i], b[j]);
		j += on;
		if (j >= m) j -= m;
	}
}

template <int op, class T> DEVICE void binary(T *dst, u64 n, const T *a, const T *b, u64 m) {
	if (m != n)
		rows<op>(dst, n, a, b, m);
	else
		map2<16 / sizeof(T), 1>(dst, n, a, b, [](T a, T b) { return apply<op>(a, b); });
}

template <int op, class T> DEVICE void scalar(T *dst, u64 n, const T *a, T b) {
	map<16 / sizeof(T), 1>(dst, n, a, [b](T a) { return apply<op>(a, b); });
}

#define BINARY(T, name, op) \
	KERNEL name##_##T(T *dst, u64 n, const T *a, const T *b, u64 m) { binary<op>(dst, n, a, b, m); }
#define SCALAR(T, name, op, P, wrap) \
	KERNEL name##_scalar_##T(T *dst, u64 n, const T *a, P b) { scalar<op>(dst, n, a, wrap); }
#define ARITH(T, P, wrap) \
	BINARY(T, add, Add) BINARY(T, sub, Sub) BINARY(T, mul, Mul) BINARY(T, div, Div) BINARY(T, max, Max) BINARY(T, min, Min) \
	SCALAR(T, add, Add, P, wrap) SCALAR(T, mul, Mul, P, wrap) SCALAR(T, max, Max, P, wrap) SCALAR(T, min, Min, P, wrap) \
	SCALAR(T, sub, Sub, P, wrap) SCALAR(T, div, Div, P, wrap) SCALAR(T, subfrom, SubFrom, P, wrap) SCALAR(T, divinto, DivInto, P, wrap)
