// Conversions between all types of elements, each rounded once.
#pragma once
#include "common.cuh"

// odd is x as an f32, rounded to odd: to round that on to 16 bits gives what
// rounding x gives.
DEVICE f32 odd(f32 rounded, bool inexact) { return inexact ? __uint_as_float(__float_as_uint(rounded) | 1) : rounded; }
DEVICE f32 odd(f64 x) {
	f32 r = __double2float_rz(x);
	return odd(r, x == x && (f64)r != x);
}
DEVICE f32 odd(i64 x) {
	f32 r = __ll2float_rz(x);
	return odd(r, (i64)r != x);
}
DEVICE f32 odd(u64 x) {
	f32 r = __ull2float_rz(x);
	return odd(r, (u64)r != x);
}
DEVICE f32 odd(f32 x) { return x; }
DEVICE f32 odd(i32 x) { return odd((i64)x); }
DEVICE f32 odd(u32 x) { return odd((u64)x); }
DEVICE f32 odd(i16 x) { return x; }
DEVICE f32 odd(u16 x) { return x; }
DEVICE f32 odd(i8 x) { return x; }
DEVICE f32 odd(u8 x) { return x; }

// wide is the exact value in a type that has arithmetic.
template <class T> DEVICE T wide(T x) { return x; }
DEVICE f32 wide(f16 x) { return toF32(x); }
DEVICE f32 wide(bf16 x) { return toF32(x); }

// clamp is the integer nearest to x in the direction of 0; what is beyond the
// range becomes its end, and NaN 0.
template <class D> struct Integer {
	template <class S> static __device__ __forceinline__ D from(S x) { return (D)x; }
	static __device__ __forceinline__ D from(f32 x) { return x != x ? 0 : clamp(x); }
	static __device__ __forceinline__ D from(f64 x) { return x != x ? 0 : clamp(x); }

	static constexpr bool isSigned = (D)-1 < 0;
	static constexpr int narrow = sizeof(D) < 4 ? 8 * sizeof(D) : 8;
	template <class S> static __device__ __forceinline__ D clamp(S x) {
		if (sizeof(D) >= 4) return (D)x; // which the instruction clamps
		const i32 lo = isSigned ? -(1 << (narrow - 1)) : 0;
		const i32 hi = isSigned ? (1 << (narrow - 1)) - 1 : (1 << narrow) - 1;
		i32 i = (i32)x;
		return (D)(i < lo ? lo : i > hi ? hi : i);
	}
};

template <class D> struct To {
	template <class S> static __device__ __forceinline__ D from(S x) { return Integer<D>::from(wide(x)); }
};
template <> struct To<f32> {
	template <class S> static __device__ __forceinline__ f32 from(S x) { return (f32)wide(x); }
};
template <> struct To<f64> {
	template <class S> static __device__ __forceinline__ f64 from(S x) { return (f64)wide(x); }
};
template <> struct To<f16> {
	template <class S> static __device__ __forceinline__ f16 from(S x) { return fromF32<f16>(odd(wide(x))); }
};
template <> struct To<bf16> {
	template <class S> static __device__ __forceinline__ bf16 from(S x) { return fromF32<bf16>(odd(wide(x))); }
};
