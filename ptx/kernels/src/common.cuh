// What the kernels share: names of types, 16-byte access, and the loops over
// elements. Everything is for compute capability 5.2 and needs no header.
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

// 16-bit floats are their bits. Arithmetic is done in f32.
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#define DEVICE static __device__ __forceinline__

// Every kernel runs with blocks of this many threads.
static const u32 threads = 256;

DEVICE u64 threadNumber() { return (u64)blockIdx.x * threads + threadIdx.x; }
DEVICE u64 threadCount() { return (u64)gridDim.x * threads; }

// Exact conversions from the 16-bit formats.
DEVICE f32 toF32(f16 x) {
	f32 y;
	asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
	return y;
}
DEVICE f32 toF32(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
DEVICE f32 toF32(f32 x) { return x; }

// Conversions to them round to nearest, ties to even.
template <class T> __device__ T fromF32(f32 x);
template <> __device__ __forceinline__ f32 fromF32<f32>(f32 x) { return x; }
template <> __device__ __forceinline__ f16 fromF32<f16>(f32 x) {
	f16 y;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
	return y;
}
template <> __device__ __forceinline__ bf16 fromF32<bf16>(f32 x) {
	bf16 y;
	u32 b = __float_as_uint(x);
	y.bits = x != x ? 0x7fff : (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
	return y;
}

// Pack is N elements that are loaded and stored in one access of up to 16 bytes.
template <int bytes> struct Word;
template <> struct Word<1> { typedef u8 type; };
template <> struct Word<2> { typedef u16 type; };
template <> struct Word<4> { typedef u32 type; };
template <> struct Word<8> { typedef uint2 type; };
template <> struct Word<16> { typedef uint4 type; };

template <class T, int N> union Pack {
	typename Word<sizeof(T) * N>::type word;
	T at[N];
};

template <class T, int N> DEVICE Pack<T, N> load(const T *p) {
	Pack<T, N> r;
	r.word = *(const typename Word<sizeof(T) * N>::type *)p;
	return r;
}
template <class T, int N> DEVICE void store(T *p, Pack<T, N> v) {
	*(typename Word<sizeof(T) * N>::type *)p = v.word;
}

// larger is how many bytes the larger of the elements has.
constexpr int larger(int a, int b) { return a > b ? a : b; }

// Split is a range cut for accesses of N elements: `head` elements one by one,
// `packs` packs, and the rest one by one. Where the operands cannot all be
// aligned there are no packs.
template <int N> struct Split {
	u64 n, head, packs;

	template <class T> static __device__ __forceinline__ u64 before(const T *p) {
		return (0 - (u64)p) % (sizeof(T) * N) / sizeof(T);
	}
	template <class T> __device__ __forceinline__ Split(u64 count, const T *p) : n(count), head(before(p)) {
		if (head > n) head = n;
		packs = (n - head) / N;
	}
	// also takes another operand into account.
	template <class T> __device__ __forceinline__ void also(const T *p) {
		if (before(p + head) != 0) {
			head = n;
			packs = 0;
		}
	}
	__device__ __forceinline__ u64 singles() const { return n - packs * N; }
	// single is which element the i-th single one is.
	__device__ __forceinline__ u64 single(u64 i) const { return i < head ? i : i + packs * N; }
	// first is the first element of a pack.
	__device__ __forceinline__ u64 first(u64 pack) const { return head + pack * N; }
};
