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

// as is the value whose bits these are, and bitsOf the other way round.
template <class T> __device__ __forceinline__ T as(u64 bits) { return (T)bits; }
template <> __device__ __forceinline__ f16 as<f16>(u64 bits) { return f16{(u16)bits}; }
template <> __device__ __forceinline__ bf16 as<bf16>(u64 bits) { return bf16{(u16)bits}; }
template <> __device__ __forceinline__ f32 as<f32>(u64 bits) { return __uint_as_float((u32)bits); }
template <> __device__ __forceinline__ f64 as<f64>(u64 bits) { return __longlong_as_double((i64)bits); }
DEVICE u64 bitsOf(i8 x) { return (u8)x; }
DEVICE u64 bitsOf(i16 x) { return (u16)x; }
DEVICE u64 bitsOf(i32 x) { return (u32)x; }
DEVICE u64 bitsOf(i64 x) { return (u64)x; }
DEVICE u64 bitsOf(u8 x) { return x; }
DEVICE u64 bitsOf(u16 x) { return x; }
DEVICE u64 bitsOf(u32 x) { return x; }
DEVICE u64 bitsOf(u64 x) { return x; }
DEVICE u64 bitsOf(f16 x) { return x.bits; }
DEVICE u64 bitsOf(bf16 x) { return x.bits; }
DEVICE u64 bitsOf(f32 x) { return __float_as_uint(x); }
DEVICE u64 bitsOf(f64 x) { return (u64)__double_as_longlong(x); }

// Words is memory that is read and written in one access.
template <int bytes> struct Words;
template <> struct Words<1> {
	u32 at[1];
	__device__ __forceinline__ void load(const void *p) { at[0] = *(const u8 *)p; }
	__device__ __forceinline__ void store(void *p) { *(u8 *)p = (u8)at[0]; }
};
template <> struct Words<2> {
	u32 at[1];
	__device__ __forceinline__ void load(const void *p) { at[0] = *(const u16 *)p; }
	__device__ __forceinline__ void store(void *p) { *(u16 *)p = (u16)at[0]; }
	__device__ __forceinline__ void storeLast(void *p) { store(p); }
};
template <> struct Words<4> {
	u32 at[1];
	__device__ __forceinline__ void load(const void *p) { at[0] = *(const u32 *)p; }
	__device__ __forceinline__ void store(void *p) { *(u32 *)p = at[0]; }
	__device__ __forceinline__ void storeLast(void *p) { store(p); }
};
template <> struct Words<8> {
	u32 at[2];
	__device__ __forceinline__ void load(const void *p) {
		uint2 v = *(const uint2 *)p;
		at[0] = v.x, at[1] = v.y;
	}
	// Written as it is meant, because the compiler takes such stores apart.
	__device__ __forceinline__ void store(void *p) {
		asm volatile("st.global.v2.u32 [%0], {%1, %2};" : : "l"(__cvta_generic_to_global(p)), "r"(at[0]), "r"(at[1]) : "memory");
	}
};
template <> struct Words<16> {
	u32 at[4];
	__device__ __forceinline__ void load(const void *p) {
		uint4 v = *(const uint4 *)p;
		at[0] = v.x, at[1] = v.y, at[2] = v.z, at[3] = v.w;
	}
	__device__ __forceinline__ void store(void *p) {
		asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" : : "l"(__cvta_generic_to_global(p)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]) : "memory");
	}
	__device__ __forceinline__ void storeLast(void *p) {
		asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" : : "l"(__cvta_generic_to_global(p)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]) : "memory");
	}
};

// Pack is N elements that are loaded and stored in one access of up to 16 bytes.
template <class T, int N> struct Pack { T at[N]; };

template <class T, int N> DEVICE Pack<T, N> unpacked(const Words<sizeof(T) * N> &w) {
	Pack<T, N> r;
	const int each = sizeof(T) < 4 ? 4 / sizeof(T) : 1; // elements of a word
#pragma unroll
	for (int k = 0; k < N; k++)
		if (sizeof(T) == 8)
			r.at[k] = as<T>((u64)w.at[2 * k + 1] << 32 | w.at[2 * k]);
		else
			r.at[k] = as<T>(w.at[k / each] >> 8 * sizeof(T) * (k % each));
	return r;
}

template <class T, int N> DEVICE Pack<T, N> load(const T *p) {
	Words<sizeof(T) * N> w;
	w.load(p);
	return unpacked<T, N>(w);
}

template <class T, int N> DEVICE void store(T *p, Pack<T, N> v) {
	Words<sizeof(T) * N> w;
	const int each = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
#pragma unroll
	for (int k = 0; k < N; k++) {
		u64 b = bitsOf(v.at[k]);
		if (sizeof(T) == 8) {
			w.at[2 * k] = (u32)b;
			w.at[2 * k + 1] = (u32)(b >> 32);
		} else if (k % each == 0) {
			w.at[k / each] = (u32)b;
		} else {
			w.at[k / each] |= (u32)b << 8 * sizeof(T) * (k % each);
		}
	}
	w.store(p);
}

// larger is how many bytes the larger of the elements has.
__device__ constexpr int larger(int a, int b) { return a > b ? a : b; }

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
