// Where the largest element of rows and of whole arrays is: the first of several
// that are equal, the first NaN where there is one, -1 where there is nothing.
//: argmax_.* >dst*int64 <src*$2 rows cols pitch parts <>work*uint64
#include "extreme.cuh"

template <class N> struct Place {
	N v;
	i64 i; // -1: nowhere
};

template <class E> struct ArgMax {
	typedef E T;
	typedef i64 Result;
	typedef typename Number<E>::type V;
	typedef Place<V> Value;

	static __device__ __forceinline__ Value none() {
		Value p = {Range<V>::least(), -1};
		return p;
	}
	// above reports whether the value of an element is above another's.
	static __device__ __forceinline__ bool above(V a, V b) { return !isNaN(b) && (isNaN(a) || a > b); }
	static __device__ __forceinline__ Value with(Value a, Value b) {
		if (a.i < 0 || b.i < 0) return a.i < 0 ? b : a;
		if (above(a.v, b.v)) return a;
		if (above(b.v, a.v)) return b;
		return a.i < b.i ? a : b;
	}
	// The value first and then the place: that is less work than to take both
	// together through every step.
	static __device__ __forceinline__ Value overWarp(Value p) {
		V most = p.v;
#pragma unroll
		for (int d = 16; d > 0; d /= 2) most = upper(most, shuffled(most, d));
		if (__any_sync(0xffffffff, isNaN(p.v))) most = notANumber(most);
		bool mine = p.i >= 0 && (isNaN(most) ? isNaN(p.v) : p.v == most);
		u64 i = mine ? (u64)p.i : ~0ull;
		if (__any_sync(0xffffffff, mine && i >> 32)) {
#pragma unroll
			for (int d = 16; d > 0; d /= 2) i = min(i, shuffled(i, d));
		} else {
			u32 low = mine ? (u32)i : ~0u;
#pragma unroll
			for (int d = 16; d > 0; d /= 2) low = min(low, shuffled(low, d));
			i = __any_sync(0xffffffff, mine) ? low : ~0ull;
		}
		p.v = most;
		p.i = (i64)i;
		return p;
	}
	static __device__ __forceinline__ i64 result(Value p) { return p.i; }

	// Which pack has the largest is remembered. Where in it, is found in the end,
	// when it is read again.
	struct Held {
		V most;
		i64 first;
		__device__ __forceinline__ Held() : most(Range<V>::least()), first(-1) {}
		template <int N> __device__ __forceinline__ void take(const Pack<E, N> &p, const E *, u64 at) {
			V m = number(p.at[0]);
			bool nan = isNaN(m);
#pragma unroll
			for (int e = 1; e < N; e++) {
				m = upper(m, number(p.at[e]));
				nan = nan | isNaN(number(p.at[e]));
			}
			bool better = first < 0 || m > most || (nan && !isNaN(most));
			most = better ? nan ? notANumber(m) : m : most;
			first = better ? (i64)at : first;
		}
		template <int N> __device__ __forceinline__ Value value(const E *row) const {
			Value best = {most, first};
			if (first < 0) return best;
			Pack<E, N> p = load<E, N>(row + first);
#pragma unroll
			for (int e = N - 1; e >= 0; e--) {
				V x = number(p.at[e]);
				if (x == most || isNaN(x)) best.i = first + e;
			}
			return best;
		}
	};
};

#define ARGMAX(E) \
	typedef ArgMax<E> ArgMax_##E; \
	REDUCE(argmax_##E, ArgMax_##E)

ARGMAX(f32)
ARGMAX(f16)
ARGMAX(bf16)
ARGMAX(f64)
ARGMAX(i32)
ARGMAX(i64)
