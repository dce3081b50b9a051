// Sums of rows and of whole arrays. What is added up and what it is added up in
// are in the kernel's name: sum_f16_f32 has elements f16, sum and result f32.
//: sum_.* >dst*$3 <src*$2 rows cols pitch parts <>work*uint64
#include "reduce.cuh"

template <class S> struct As {
	template <class T> static __device__ __forceinline__ S of(T x) { return (S)x; }
	static __device__ __forceinline__ S of(f16 x) { return (S)toF32(x); }
	static __device__ __forceinline__ S of(bf16 x) { return (S)toF32(x); }
};

template <class E, class S> struct Sum {
	typedef E T;
	typedef S Value;
	typedef S Result;
	static __device__ __forceinline__ S none() { return 0; }
	static __device__ __forceinline__ S with(S a, S b) { return a + b; }
	static __device__ __forceinline__ Value overWarp(Value v) { return ::overWarp<Sum>(v); }
	static __device__ __forceinline__ S result(S v) { return v; }

	// Those of a pack are added to each other first: that takes the length out
	// of the error, and the waiting out of the loop.
	struct Held {
		S sum;
		__device__ __forceinline__ Held() : sum(0) {}
		template <int N> __device__ __forceinline__ void take(const Pack<E, N> &p, const E *, u64) {
			S v[N];
#pragma unroll
			for (int e = 0; e < N; e++) v[e] = As<S>::of(p.at[e]);
#pragma unroll
			for (int d = N / 2; d > 0; d /= 2)
#pragma unroll
				for (int e = 0; e < d; e++) v[e] += v[e + d];
			sum += v[0];
		}
		template <int N> __device__ __forceinline__ S value(const E *) const { return sum; }
	};
};

#define SUM(E, S) \
	typedef Sum<E, S> Sum_##E##_##S; \
	REDUCE(sum_##E##_##S, Sum_##E##_##S)

SUM(f32, f32)
SUM(f16, f32)
SUM(bf16, f32)
SUM(f64, f64)
SUM(f32, f64)
SUM(i32, i64)
SUM(i64, i64)
SUM(u32, u64)
SUM(u64, u64)
