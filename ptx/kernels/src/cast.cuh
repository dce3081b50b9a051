// dst[i] = src[i], converted. A source of bits stands for both signs.
#pragma once
#include "convert.cuh"
#include "map.cuh"

template <int U, class D, class S> DEVICE void cast(D *dst, const S *src, u64 n) {
	const int N = 16 / larger(sizeof(D), sizeof(S));
	map<N, U>(dst, n, src, [](S x) { return To<D>::from(x); });
}

#define CAST(S, D) \
	KERNEL cast_##S##_##D(D *dst, const S *src, u64 n) { cast<1>(dst, src, n); }
#define CAST4(S, D) \
	KERNEL cast_##S##_##D(D *dst, const S *src, u64 n) { cast<4>(dst, src, n); }
#define TO_INTS(S) CAST(S, i8) CAST(S, u8) CAST(S, i16) CAST(S, u16) CAST(S, i32) CAST(S, u32) CAST(S, i64) CAST(S, u64)
#define TO_FLOATS(S) CAST(S, f16) CAST(S, bf16) CAST(S, f32) CAST(S, f64)
