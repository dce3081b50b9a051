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

// Piece is N neighbours of a row, read and written at once: a pack or one element.
template <class T, int N> struct Piece {
	f32 v[N];

	__device__ __forceinline__ void set(f32 x) {
#pragma unroll
		for (int e = 0; e < N; e++) v[e] = x;
	}
	__device__ __forceinline__ void load(const T *p) {
		Pack<T, N> x = ::load<T, N>(p);
#pragma unroll
		for (int e = 0; e < N; e++) v[e] = toF32(x.at[e]);
	}
	__device__ __forceinline__ void store(T *p) const {
		Pack<T, N> x;
#pragma unroll
		for (int e = 0; e < N; e++) x.at[e] = fromF32<T>(v[e]);
		::store<T, N>(p, x);
	}
	__device__ __forceinline__ f32 sum() const {
		f32 s = v[0];
#pragma unroll
		for (int e = 1; e < N; e++) s += v[e];
		return s;
	}
};

// A thread of a team has every blockDim.x-th piece. Held is those of a row that
// is short enough for registers: 32 values, which are packs.
static const int held = 32;

DEVICE bool fits(u64 cols) { return cols <= (u64)held * blockDim.x; }

#define EACH_HELD(k, i, N) \
	_Pragma("unroll") for (u32 k = 0, i = threadIdx.x * N; k < held / N; k++, i += blockDim.x * N)
#define EACH_PIECE(i, cols, N) \
	_Pragma("unroll 1") for (u64 i = threadIdx.x * N; i < cols; i += blockDim.x * N)

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
