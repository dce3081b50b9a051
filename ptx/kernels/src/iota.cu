// dst[i] = start + i * step. Floats are computed in f64 and rounded once.
//: iota_.* >dst*$2 n start:b$2 step:b$2
#include "convert.cuh"

template <class T> DEVICE T nth(T start, T step, u64 i) { return (T)(bitsOf(start) + i * bitsOf(step)); }
DEVICE f64 nth(f64 start, f64 step, u64 i) { return fma((f64)i, step, start); }
DEVICE f32 nth(f32 start, f32 step, u64 i) { return (f32)nth((f64)start, (f64)step, i); }
DEVICE f16 nth(f16 start, f16 step, u64 i) { return To<f16>::from(nth((f64)toF32(start), (f64)toF32(step), i)); }
DEVICE bf16 nth(bf16 start, bf16 step, u64 i) { return To<bf16>::from(nth((f64)toF32(start), (f64)toF32(step), i)); }

template <class T> DEVICE void iota(T *dst, u64 n, T start, T step) {
	const int N = 16 / sizeof(T);
	Split<N> s(n, dst);
	for (u64 i = threadNumber(); i < s.singles(); i += threadCount()) {
		u64 at = s.single(i);
		dst[at] = nth(start, step, at);
	}
#pragma unroll 1
	for (u64 i = threadNumber(); i < s.packs; i += threadCount()) {
		Pack<T, N> v;
#pragma unroll
		for (int k = 0; k < N; k++) v.at[k] = nth(start, step, s.first(i) + k);
		store<T, N>(dst + s.first(i), v);
	}
}

// Integers wrap, so the sign makes no difference.
KERNEL iota_b8(u8 *dst, u64 n, u8 start, u8 step) { iota(dst, n, start, step); }
KERNEL iota_b16(u16 *dst, u64 n, u16 start, u16 step) { iota(dst, n, start, step); }
KERNEL iota_b32(u32 *dst, u64 n, u32 start, u32 step) { iota(dst, n, start, step); }
KERNEL iota_b64(u64 *dst, u64 n, u64 start, u64 step) { iota(dst, n, start, step); }
KERNEL iota_f16(f16 *dst, u64 n, u16 start, u16 step) { iota(dst, n, f16{start}, f16{step}); }
KERNEL iota_bf16(bf16 *dst, u64 n, u16 start, u16 step) { iota(dst, n, bf16{start}, bf16{step}); }
KERNEL iota_f32(f32 *dst, u64 n, f32 start, f32 step) { iota(dst, n, start, step); }
KERNEL iota_f64(f64 *dst, u64 n, f64 start, f64 step) { iota(dst, n, start, step); }
