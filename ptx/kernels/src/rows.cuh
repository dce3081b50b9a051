// What the kernels over rows have in common: teams of threads, what a thread
// holds of a row, and values combined across the threads of a team.
//
// A team is the blockDim.x threads of a row: whole warps, or 1, 2, 4, 8 or 16
// lanes of one, and a block has blockDim.y teams. More than one warp to a team
// means one team to a block, because warps meet in shared memory.
#pragma once
#include "common.cuh"

// Two blocks to a multiprocessor is all that can be had with 64 registers. To say
// so keeps the compiler from saving more of them by loading one pack at a time.
#define KERNEL_ROWS extern "C" __global__ void __launch_bounds__(512, 2)

// Rows are dealt to teams.
#define EACH_ROW(row, rows) \
	for (u64 row = (u64)blockIdx.x * blockDim.y + threadIdx.y; row < (rows); row += (u64)gridDim.x * blockDim.y)

// eachRow deals rows to teams and calls f with a row and how many columns it has.
// The teams of a warp go on together, because they speak by shuffles: where the
// rows end in between, those that got none have one of no columns.
template <class F> DEVICE void eachRow(u64 rows, u64 cols, F f) {
	const u32 before = threadIdx.y & (31 / blockDim.x); // teams of this warp before this one
	for (u64 row = (u64)blockIdx.x * blockDim.y + threadIdx.y; row - before < rows; row += (u64)gridDim.x * blockDim.y)
		f(row, row < rows ? cols : 0);
}

// ofTeam is the bits of a ballot that are of this thread's team, if that is within
// a warp, and else all of them.
DEVICE u32 ofTeam(u32 ballot) {
	if (blockDim.x >= 32) return ballot;
	const u32 lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
	return ballot >> (lane - threadIdx.x) & ((1u << blockDim.x) - 1);
}
DEVICE bool anyOfTeam(bool b) { return ofTeam(__ballot_sync(0xffffffff, b)) != 0; }

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

template <int bytes> DEVICE void fillWords(Words<bytes> &w, u32 x) {
#pragma unroll
	for (u32 &word : w.at) word = x;
}

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

// here is p, which the compiler then does not compute anew for each access.
template <class T> DEVICE T *here(T *p) {
	asm volatile("" : "+l"(p));
	return p;
}

// held is how many values of a row a thread keeps in registers, in pieces of N:
// packs or, where rows do not begin and end with one, half as many single elements.
static const int held = 32;
template <int N> __device__ constexpr int pieces() { return N > 1 ? held / N : held / 2; }

// fits is for rows that are kept.
template <int N> DEVICE bool fits(u64 cols) { return cols <= (u64)pieces<N>() * N * blockDim.x; }

// A thread has every blockDim.x-th piece. mine is where its first one is, and
// eachOf calls f for each of the count it can have with its number, whether there is
// one, and how far it is from the first.
template <int N, class T> DEVICE T *mine(T *row) { return here(row + threadIdx.x * N); }
template <int N, int count, class F> DEVICE void eachOf(u32 cols, F f) {
	const u32 step = fresh(blockDim.x) * N;
	const i32 left = (i32)(cols - threadIdx.x * N);
#pragma unroll
	for (int k = 0; k < count; k++) f(k, (i32)(k * step) < left, k * step);
}
template <int N, class F> DEVICE void eachHeld(u32 cols, F f) { eachOf<N, pieces<N>()>(cols, f); }

// read reads a thread's pieces of a row, all of them before any is taken apart, which
// waits for it. What there is less is the word none.
template <int N, int count, class T> DEVICE void read(Words<sizeof(T) * N> (&w)[count], const T *row, u32 cols, u32 none) {
	const T *from = mine<N>(row);
	eachOf<N, count>(cols, [&](int k, bool is, u32 o) {
		fillWords(w[k], none);
		if (is) w[k].load(from + o);
	});
}

// Values is what a thread has of a row, as numbers that can be replaced. all is for
// what zeros do not change.
template <class T, int N> struct Values {
	static const bool anew = false;
	Piece<T, N> p[pieces<N>()];

	__device__ __forceinline__ void load(const T *row, u32 cols) {
		Words<sizeof(T) * N> w[pieces<N>()];
		read<N>(w, row, cols, 0);
#pragma unroll
		for (int k = 0; k < pieces<N>(); k++) p[k].of(w[k]);
	}
	template <class F> __device__ __forceinline__ void all(u32, F f) {
#pragma unroll
		for (int k = 0; k < pieces<N>(); k++) f(p[k]);
	}
	template <class F> __device__ __forceinline__ void each(u32 cols, F f) {
		eachHeld<N>(cols, [&](int k, bool is, u32 o) {
			if (is) f(p[k], o);
		});
	}
};

// A longer row is read in steps of so many pieces of each thread.
static const int deep = 4;

// step is a step from piece i of the row on.
template <int N, class T, class F> DEVICE void step(const T *row, const Split<N> &s, u64 i, F f) {
	Words<sizeof(T) * N> w[deep];
	if (i >= s.packs) return;
	const u64 at = s.first(i);
	const u32 left = (u32)min(s.packs - i, (u64)1 << 31), team = fresh(blockDim.x);
	const T *from = here(row + at);
#pragma unroll
	for (int k = 0; k < deep; k++)
		if (k * team < left) w[k].load(from + k * team * N);
#pragma unroll
	for (int k = 0; k < deep; k++) {
		if (k * team >= left) return;
		Piece<T, N> p;
		p.of(w[k]);
		f(p, at + k * team * N);
	}
}

// singles calls f with each of a thread's elements before and behind the packs.
template <class T, int N, class F> DEVICE void singles(const T *row, const Split<N> &s, F f) {
#pragma unroll 1
	for (u64 i = threadIdx.x; i < s.singles(); i += blockDim.x) {
		Piece<T, 1> one;
		one.load(row + s.single(i));
		f(one, s.single(i));
	}
}

// forth calls f with each of a thread's pieces of a row and its first column.
template <int N, class T, class F> DEVICE void forth(const T *row, const Split<N> &s, F f) {
	singles(row, s, f);
#pragma unroll 1
	for (u64 i = threadIdx.x; i < s.packs; i += deep * blockDim.x) step(row, s, i, f);
}

// back is forth with the steps from the last to the first: what was read last is
// still in the cache.
template <int N, class T, class F> DEVICE void back(const T *row, const Split<N> &s, F f) {
	const u64 stride = deep * blockDim.x;
#pragma unroll 1
	for (u64 n = (s.packs + stride - 1) / stride; n > 0; n--) step(row, s, (n - 1) * stride + threadIdx.x, f);
	singles(row, s, f);
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

template <class O> DEVICE f32 exchanged(f32 v, int d) { return O::with(v, __shfl_xor_sync(0xffffffff, v, d)); }

// acrossWarp is for teams of any size within a warp.
template <class O> DEVICE f32 acrossWarp(f32 v) {
	const u32 team = fresh(blockDim.x);
	if (team == 1) return v;
	v = exchanged<O>(v, 1);
	if (team == 2) return v;
	v = exchanged<O>(v, 2);
	if (team == 4) return v;
	v = exchanged<O>(v, 4);
	if (team == 8) return v;
	v = exchanged<O>(v, 8);
	if (team == 16) return v;
	return exchanged<O>(v, 16);
}

// across combines a value of each thread of a team and gives the result to all
// of them. The order is a tree over lanes, then one over warps: always the same.
template <class O> DEVICE f32 across(f32 v) {
	__shared__ f32 parts[32];
	v = acrossWarp<O>(v);
	if (blockDim.x <= 32) return v;
	u32 lane = threadIdx.x % 32;
	if (lane == 0) parts[threadIdx.x / 32] = v;
	__syncthreads();
	v = acrossWarp<O>(lane < blockDim.x / 32 ? parts[lane] : O::none());
	__syncthreads(); // parts is free for the next
	return v;
}

// Block is a team for the kernels that can also have a larger one, see cluster.cuh.
struct Block {
	template <class O> __device__ __forceinline__ f32 across(f32 v) { return ::across<O>(v); }
};
