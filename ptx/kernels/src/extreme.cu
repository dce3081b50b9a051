// The largest and the smallest element of rows and of whole arrays. Where there
// is a NaN it is the result.
//: (max|min)_rows_.* >dst*$3 <src*$3 rows cols pitch parts <>work*uint64
#include "extreme.cuh"

template <class E, bool MOST> struct Extreme {
	typedef E T;
	typedef E Result;
	typedef typename Number<E>::type Value;

	static __device__ __forceinline__ Value none() { return MOST ? Range<Value>::least() : Range<Value>::most(); }
	static __device__ __forceinline__ Value further(Value a, Value b) { return MOST ? upper(a, b) : lower(a, b); }
	static __device__ __forceinline__ Value with(Value a, Value b) { return isNaN(a) ? a : isNaN(b) ? b : further(a, b); }
	static __device__ __forceinline__ Value overWarp(Value v) { return ::overWarp<Extreme>(v); }
	static __device__ __forceinline__ E result(Value v) { return Back<E>::of(v); }

	// NaN is looked for by itself, because the hardware passes over it.
	struct Held {
		Value v;
		bool nan;
		__device__ __forceinline__ Held() : v(none()), nan(false) {}
		template <int N> __device__ __forceinline__ void take(const Pack<E, N> &p, const E *, u64) {
#pragma unroll
			for (int e = 0; e < N; e++) {
				Value x = number(p.at[e]);
				v = further(v, x);
				nan = nan | isNaN(x);
			}
		}
		template <int N> __device__ __forceinline__ Value value(const E *) const { return nan ? notANumber(v) : v; }
	};
};

#define EXTREME(E) \
	typedef Extreme<E, true> Max_##E; \
	typedef Extreme<E, false> Min_##E; \
	REDUCE(max_rows_##E, Max_##E) \
	REDUCE(min_rows_##E, Min_##E)

EXTREME(f32)
EXTREME(f16)
EXTREME(bf16)
EXTREME(f64)
EXTREME(i32)
EXTREME(i64)
