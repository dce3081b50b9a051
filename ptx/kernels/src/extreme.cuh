// The largest of elements, and where it is. NaN is larger than everything.
#pragma once
#include "reduce.cuh"

// Numbers are compared in a type that has all values of theirs.
DEVICE f32 number(f16 x) { return toF32(x); }
DEVICE f32 number(bf16 x) { return toF32(x); }
template <class T> DEVICE T number(T x) { return x; }

DEVICE bool isNaN(f32 x) { return x != x; }
DEVICE bool isNaN(f64 x) { return x != x; }
template <class T> DEVICE bool isNaN(T) { return false; }

DEVICE f32 upper(f32 a, f32 b) { return fmaxf(a, b); }
DEVICE f64 upper(f64 a, f64 b) { return fmax(a, b); }
template <class T> DEVICE T upper(T a, T b) { return a > b ? a : b; }

DEVICE f32 lower(f32 a, f32 b) { return fminf(a, b); }
DEVICE f64 lower(f64 a, f64 b) { return fmin(a, b); }
template <class T> DEVICE T lower(T a, T b) { return a < b ? a : b; }

template <class T> struct Range;
template <> struct Range<f32> {
	static __device__ __forceinline__ f32 least() { return -infinity(); }
	static __device__ __forceinline__ f32 most() { return infinity(); }
};
template <> struct Range<f64> {
	static __device__ __forceinline__ f64 least() { return -(f64)infinity(); }
	static __device__ __forceinline__ f64 most() { return infinity(); }
};
template <> struct Range<i32> {
	static __device__ __forceinline__ i32 least() { return -0x7fffffff - 1; }
	static __device__ __forceinline__ i32 most() { return 0x7fffffff; }
};
template <> struct Range<i64> {
	static __device__ __forceinline__ i64 least() { return -0x7fffffffffffffff - 1; }
	static __device__ __forceinline__ i64 most() { return 0x7fffffffffffffff; }
};

DEVICE f32 notANumber(f32) { return __int_as_float(0x7fffffff); }
DEVICE f64 notANumber(f64) { return __longlong_as_double(0x7fffffffffffffff); }
template <class T> DEVICE T notANumber(T x) { return x; }

template <class T> struct Back {
	template <class V> static __device__ __forceinline__ T of(V v) { return v; }
};
template <> struct Back<f16> {
	static __device__ __forceinline__ f16 of(f32 v) { return fromF32<f16>(v); }
};
template <> struct Back<bf16> {
	static __device__ __forceinline__ bf16 of(f32 v) { return fromF32<bf16>(v); }
};

template <class T> struct Number { typedef T type; };
template <> struct Number<f16> { typedef f32 type; };
template <> struct Number<bf16> { typedef f32 type; };
