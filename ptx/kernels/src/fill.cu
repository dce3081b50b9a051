// dst[i] = value, for elements of 1, 2, 4 and 8 bytes.
//: fill_.* >dst*$2 n value:b
#include "common.cuh"

template <class T> DEVICE void fill(T *dst, u64 n, T value) {
	const int N = 16 / sizeof(T);
	Split<N> s(n, dst);
	for (u64 i = threadNumber(); i < s.singles(); i += threadCount())
		dst[s.single(i)] = value;
	Pack<T, N> v;
#pragma unroll
	for (int k = 0; k < N; k++) v.at[k] = value;
#pragma unroll 1
	for (u64 i = threadNumber(); i < s.packs; i += threadCount())
		store<T, N>(dst + s.first(i), v);
}

KERNEL fill_b8(u8 *dst, u64 n, u8 value) { fill(dst, n, value); }
KERNEL fill_b16(u16 *dst, u64 n, u16 value) { fill(dst, n, value); }
KERNEL fill_b32(u32 *dst, u64 n, u32 value) { fill(dst, n, value); }
KERNEL fill_b64(u64 *dst, u64 n, u64 value) { fill(dst, n, value); }
