// What the kernels over rows have in common: teams of threads, what a thread
// holds of a row, and values combined across the threads of a team.
//
// A team is the blockDim.x threads of a row, whole warps, and a block has
// blockDim.y teams. More than one warp to a team means one team to a block,
// because warps meet in shared memory.
#pragma once
#include "common.cuh"

// Two blocks to a multiprocessor is all that can be had with 64 registers. To say
// so keeps the compiler from saving more of them by loading one pack at a time.
#define KERNEL_ROWS extern "C" __global__ void __launch_bounds__(512, 2)

// Rows are dealt to teams.
#define EACH_ROW(row, rows) \
	for (u64 row = (u64)blockIdx.x * blockDim.y + threadIdx.y; row < (rows); row += (u64)gridDim.x * blockDim.y)

DEVICE f32 infinity() { return __int_as_float(0x7f800000); }

// packed reports whether rows can be read and written in packs of 16 bytes.
template <class T> DEVICE bool packed(const T *p, u64 cols, u64 pitch) {
	const u64 n = 16 / sizeof(T);
	return (u64)p % 16 == 0 && pitch % n == 0 && cols % n == 0;
}

// pair is two values rounded to 16 bits each, the first in the lower half. To
// bfloat16 one instruction does that from 8.0 on.
template <class T> __device__ __forceinline__ u32 pair(f32 a, f32 b) { return (u32)bitsOf(fromF32<T>(a)) | (u32)bitsOf(fromF32<T>(b)) << 16; }
#if __CUDA_ARCH__ >= 800
template <> __device__ __forceinline__ u32 pair<bf16>(f32 a, f32 b) {
	u32 w;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
	return w;
}
#endif

// Piece is N neighbours of a row, read and written at once: a pack or one element.
template <class T, int N> struct Piece {
	f32 v[N];

	__device__ __forceinline__ void set(f32 x) {
#pragma unroll
		for (int e = 0; e < N; e++) v[e] = x;
	}
	__device__ __forceinline__ void load(const T *p) {
		Words<sizeof(T) * N> w;
		w.load(p);
		of(w);
	}
	__device__ __forceinline__ void of(const Words<sizeof(T) * N> &w) {
		Pack<T, N> x = unpacked<T, N>(w);
#pragma unroll
		for (int e = 0; e < N; e++) v[e] = toF32(x.at[e]);
	}
	// loadAny is load from where p need not be a multiple of the piece's size.
	__device__ __forceinline__ void loadAny(const T *p) {
		if ((u64)p % (sizeof(T) * N) == 0) return load(p);
#pragma unroll
		for (int e = 0; e < N; e++) v[e] = toF32(p[e]);
	}
	__device__ __forceinline__ void store(T *p) const { rounded().store(p); }
	// storeLast is store of what nobody here reads again: what is read stays in
	// the cache in its place.
	__device__ __forceinline__ void storeLast(T *p) const { rounded().storeLast(p); }

	__device__ __forceinline__ Words<sizeof(T) * N> rounded() const {
		Words<sizeof(T) * N> w;
		const int each = sizeof(T) < 4 && N > 1 ? 2 : 1; // elements of a word
#pragma unroll
		for (int e = 0; e < N; e += each) w.at[e / each] = each == 1 ? (u32)bitsOf(fromF32<T>(v[e])) : pair<T>(v[e], v[(e + 1) % N]);
		return w;
	}
	__device__ __forceinline__ f32 sum() const {
		f32 s = v[0];
#pragma unroll
		for (int e = 1; e < N; e++) s += v[e];
		return s;
	}
};

// fresh is x. What is made of it is made where it is needed and not before the
// loop over rows, because registers are few.
DEVICE u32 fresh(u32 x) {
	asm volatile("" : "+r"(x));
	return x;
}

// A thread of a team has every blockDim.x-th piece of a row, and up to one of
// the single elements before and behind the packs.
template <int N> DEVICE bool hasSingle(const Split<N> &s) { return threadIdx.x < s.singles(); }

// held is how many values of a row a thread keeps in registers, which are packs.
static const int held = 32;

// fits is for rows that begin and end with a pack.
DEVICE bool fits(u64 cols) { return cols <= (u64)held * blockDim.x; }
#define EACH_HELD(k, i, N) \
	_Pragma("unroll") for (u32 k = 0, i = threadIdx.x * N; k < held / N; k++, i += blockDim.x * N)

// Held is a thread's part of a row that may begin and end anywhere. It takes more
// instructions, of which the other rows have none to spare.
template <class T, int N> struct Held {
	static const int pieces = held / N;
	u32 packs; // from this thread's first one to the end of the row
	Piece<T, N> p[pieces];
	Piece<T, 1> one;
	i32 single; // its column; -1: there is none

	static __device__ __forceinline__ bool takes(const Split<N> &s) { return s.packs <= (u64)pieces * blockDim.x; }

	// What there is less of than fits is none.
	__device__ __forceinline__ Held(const T *src, const Split<N> &s, f32 none) {
		const u32 i = fresh(threadIdx.x), team = fresh(blockDim.x);
		packs = i < s.packs ? (u32)s.packs - i : 0;
		single = hasSingle(s) ? (i32)s.single(i) : -1;
		const T *at = src + s.first(i);
#pragma unroll
		for (int k = 0; k < pieces; k++) {
			p[k].set(none);
			if (k * team < packs) p[k].load(at + k * team * N);
		}
		one.set(none);
		if (single >= 0) one.load(src + single);
	}
	// each calls f with each piece that there is.
	template <class F> __device__ __forceinline__ void each(F f) {
		const u32 team = fresh(blockDim.x);
#pragma unroll
		for (int k = 0; k < pieces; k++)
			if (k * team < packs) f(p[k]);
		if (single >= 0) f(one);
	}
	// eachAt also gives the piece's column.
	template <class F> __device__ __forceinline__ void eachAt(const Split<N> &s, F f) {
		const u32 at = (u32)s.head + fresh(threadIdx.x) * N, team = fresh(blockDim.x);
#pragma unroll
		for (int k = 0; k < pieces; k++)
			if (k * team < packs) f(p[k], at + k * team * N);
		if (single >= 0) f(one, (u32)single);
	}
};

// A longer row is read in steps of so many pieces of each thread.
static const int deep = 4;

// step is a step from piece i of the row on.
template <int N, class T, class F> DEVICE void step(const T *row, const Split<N> &s, u64 i, F f) {
	Words<sizeof(T) * N> w[deep];
	if (i >= s.packs) return;
	const u64 left = s.packs - i, at = s.first(i);
	const u32 team = fresh(blockDim.x);
#pragma unroll
	for (int k = 0; k < deep; k++)
		if (k * team < left) w[k].load(row + at + k * team * N);
#pragma unroll
	for (int k = 0; k < deep; k++) {
		if (k * team >= left) return;
		Piece<T, N> p;
		p.of(w[k]);
		f(p, at + k * team * N);
	}
}

template <class T, int N, class F> DEVICE void single(const T *row, const Split<N> &s, F f) {
	Piece<T, 1> one;
	if (!hasSingle(s)) return;
	one.load(row + s.single(threadIdx.x));
	f(one, s.single(threadIdx.x));
}

// forth calls f with each of a thread's pieces of a row and its first column.
template <int N, class T, class F> DEVICE void forth(const T *row, const Split<N> &s, F f) {
	single(row, s, f);
#pragma unroll 1
	for (u64 i = threadIdx.x; i < s.packs; i += deep * blockDim.x) step(row, s, i, f);
}

// back is forth with the steps from the last to the first: what was read last is
// still in the cache.
template <int N, class T, class F> DEVICE void back(const T *row, const Split<N> &s, F f) {
	const u64 stride = deep * blockDim.x;
#pragma unroll 1
	for (u64 n = (s.packs + stride - 1) / stride; n > 0; n--) step(row, s, (n - 1) * stride + threadIdx.x, f);
	single(row, s, f);
}

// together reports whether packs of two rows can be aligned at once.
template <class T> DEVICE bool together(const T *a, const T *b) { return ((u64)a - (u64)b) % 16 == 0; }

struct Add {
	static __device__ __forceinline__ f32 none() { return 0; }
	static __device__ __forceinline__ f32 with(f32 a, f32 b) { return a + b; }
};
struct Max {
	static __device__ __forceinline__ f32 none() { return -infinity(); }
	static __device__ __forceinline__ f32 with(f32 a, f32 b) { return fmaxf(a, b); }
};

template <class O> DEVICE f32 acrossWarp(f32 v) {
#pragma unroll
	for (int d = 16; d > 0; d /= 2) v = O::with(v, __shfl_xor_sync(0xffffffff, v, d));
	return v;
}

// across combines a value of each thread of a team and gives the result to all
// of them. The order is a tree over lanes, then one over warps: always the same.
template <class O> DEVICE f32 across(f32 v) {
	__shared__ f32 parts[32];
	v = acrossWarp<O>(v);
	if (blockDim.x == 32) return v;
	u32 lane = threadIdx.x % 32;
	if (lane == 0) parts[threadIdx.x / 32] = v;
	__syncthreads();
	v = acrossWarp<O>(lane < blockDim.x / 32 ? parts[lane] : O::none());
	__syncthreads(); // parts is free for the next
	return v;
}
