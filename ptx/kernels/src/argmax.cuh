// Where the largest element of rows and of whole arrays is: the first of several
// that are equal, the first NaN where there is one, -1 where there is nothing.
#pragma once
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
		for (int d = 16; d > 0; d /= 2)
			if (d < blockDim.x) most = upper(most, shuffled(most, d));
		if (anyOfTeam(isNaN(p.v))) most = notANumber(most);
		bool mine = p.i >= 0 && (isNaN(most) ? isNaN(p.v) : p.v == most);
		u64 i = mine ? (u64)p.i : ~0ull;
		if (__any_sync(0xffffffff, mine && i >> 32)) {
#pragma unroll
			for (int d = 16; d > 0; d /= 2)
				if (d < blockDim.x) i = min(i, shuffled(i, d));
		} else {
			u32 low = mine ? (u32)i : ~0u;
#pragma unroll
			for (int d = 16; d > 0; d /= 2)
				if (d < blockDim.x) low = min(low, shuffled(low, d));
			i = anyOfTeam(mine) ? low : ~0ull;
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

#if __CUDA_ARCH__ >= 800
// From 8.0 on one instruction compares two pairs of 16-bit floats, and one finds
// the least or the largest integer of a warp.
DEVICE u32 upperPair(f16, u32 a, u32 b) {
	asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
	return a;
}
DEVICE u32 upperPair(bf16, u32 a, u32 b) {
	asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
	return a;
}
DEVICE i32 mostOfTeam(i32 v) {
	if (blockDim.x >= 32) {
		asm volatile("redux.sync.max.s32 %0, %0, 0xffffffff;" : "+r"(v));
		return v;
	}
#pragma unroll
	for (int d = 8; d > 0; d /= 2)
		if (d < blockDim.x) v = max(v, shuffled(v, d));
	return v;
}
DEVICE u32 leastOfTeam(u32 v) {
	if (blockDim.x >= 32) {
		asm volatile("redux.sync.min.u32 %0, %0, 0xffffffff;" : "+r"(v));
		return v;
	}
#pragma unroll
	for (int d = 8; d > 0; d /= 2)
		if (d < blockDim.x) v = min(v, shuffled(v, d));
	return v;
}

// A rank is a number's place among all: equal for both zeros, and for all NaN,
// because a sum that is NaN is always the same one. That is above everything.
static const i32 noRank = -0x7fffffff - 1;
DEVICE i32 rank(f32 x) {
	i32 b = __float_as_int(x + 0.0f);
	return b ^ (b >> 31 & 0x7fffffff);
}
DEVICE f32 ranked(i32 r) { return __int_as_float(r ^ (r >> 31 & 0x7fffffff)); }

// peak is the rank of the largest element of a pack.
template <class E> DEVICE i32 peak(const Pack<E, 1> &p) { return rank(toF32(p.at[0])); }
template <class E> DEVICE i32 peak(const Pack<E, 8> &p) {
	u32 m = 0;
#pragma unroll
	for (int e = 0; e < 8; e += 2) {
		u32 two = p.at[e].bits | (u32)p.at[e + 1].bits << 16;
		m = e == 0 ? two : upperPair(E(), m, two);
	}
	m = upperPair(E(), m, m >> 16 | m << 16);
	return rank(toF32(as<E>(m & 0xffff)));
}

// ArgMaxOfRanks is ArgMax for 16-bit floats.
template <class E> struct ArgMaxOfRanks {
	typedef E T;
	typedef i64 Result;
	typedef Place<i32> Value;

	static __device__ __forceinline__ Value none() {
		Value p = {noRank, -1};
		return p;
	}
	// Nowhere has no rank, and is the last place.
	static __device__ __forceinline__ Value with(Value a, Value b) {
		bool first = a.v > b.v || (a.v == b.v && (u64)a.i < (u64)b.i);
		return first ? a : b;
	}
	static __device__ __forceinline__ Value overWarp(Value p) {
		i32 most = mostOfTeam(p.v);
		u64 i = p.v == most ? (u64)p.i : ~0ull;
		if (__any_sync(0xffffffff, p.v == most && i >> 32)) {
#pragma unroll
			for (int d = 16; d > 0; d /= 2)
				if (d < blockDim.x) i = min(i, shuffled(i, d));
		} else {
			i = leastOfTeam((u32)i);
		}
		p.v = most;
		p.i = (i64)i;
		return p;
	}
	static __device__ __forceinline__ i64 result(Value p) { return p.i; }

	struct Held {
		i32 most;
		i64 first;
		__device__ __forceinline__ Held() : most(noRank), first(-1) {}
		template <int N> __device__ __forceinline__ void take(const Pack<E, N> &p, const E *, u64 at) {
			i32 r = peak(p);
			bool better = r > most;
			most = better ? r : most;
			first = better ? (i64)at : first;
		}
		template <int N> __device__ __forceinline__ Value value(const E *row) const {
			Value best = {most, first};
			if (first < 0) return best;
			f32 x = ranked(most);
			Pack<E, N> p = load<E, N>(row + first);
#pragma unroll
			for (int e = N - 1; e >= 0; e--) {
				f32 y = toF32(p.at[e]);
				if (y == x || isNaN(y)) best.i = first + e;
			}
			return best;
		}
	};
};
#endif

#define ARGMAX(NAME, O) \
	typedef O ArgMax_##NAME; \
	REDUCE(argmax_##NAME, ArgMax_##NAME)
