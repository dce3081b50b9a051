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
	static __device__ __forceinline__ i64 result(Value p) { return p.i; }

	// Most packs have nothing above what was found before, which is quick to
	// see. Those that have are read again.
	struct Held {
		Value best;
		__device__ __forceinline__ Held() : best(none()) {}
		template <int N> __device__ __forceinline__ void take(const Pack<E, N> &p, const E *row, u64 first) {
			V most = number(p.at[0]);
			bool nan = isNaN(most);
#pragma unroll
			for (int e = 1; e < N; e++) {
				most = upper(most, number(p.at[e]));
				nan = nan | isNaN(number(p.at[e]));
			}
			if (best.i < 0 || nan || most > best.v) look(row, first, N);
		}
		__device__ __forceinline__ void look(const E *row, u64 first, int n) {
#pragma unroll 1
			for (u64 i = first; i < first + n; i++) {
				V x = number(row[i]);
				if (best.i >= 0 && !above(x, best.v)) continue;
				best.v = x;
				best.i = i;
			}
		}
		__device__ __forceinline__ Value value() const { return best; }
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
