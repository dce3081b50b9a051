// Softmax of rows: dst[r][c] = exp(scale*src[r][c] - m) / the row's sum of these,
// where m is the row's largest scaled value. In f32, whatever the elements are.
//
// A row of up to 32 values per thread is read once and stays in registers, see
// cluster.cuh for more. A longer one is read twice: for its largest value and its
// sum together, and again to write.
#pragma once
#include "rows.cuh"

// least is a word of elements that are -Inf.
template <class T> __device__ constexpr u32 least();
template <> __device__ constexpr u32 least<f32>() { return 0xff800000; }
template <> __device__ constexpr u32 least<f16>() { return 0xfc00fc00; }
template <> __device__ constexpr u32 least<bf16>() { return 0xff80ff80; }

// A row of nothing but -Inf has no largest value to subtract.
DEVICE f32 anchor(f32 most) { return most == -infinity() ? 0 : most; }

// reciprocal is 1/x of a sum of powers, of which one is 1.
DEVICE f32 reciprocal(f32 x) { return __fdividef(1, x); }

// scaled multiplies, raises most to the largest of the products and returns it.
// Products are rounded by themselves: the difference of one that is rounded and
// one that is not would be far from 0 where it has to be 0.
template <class P> DEVICE f32 scaled(P &p, f32 scale, f32 most) {
#pragma unroll
	for (f32 &x : p.v) most = fmaxf(most, x = __fmul_rn(x, scale));
	return most;
}

// power is exp(x) for x <= 0. 16-bit floats do not need the last bits of it.
template <class T> DEVICE f32 power(f32 x) {
	if (sizeof(T) == 4) return expf(x);
	f32 y;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
	return y;
}

// powers replaces each value by exp(value - most).
template <class T, int N> DEVICE void powers(Piece<T, N> &p, f32 most) {
#pragma unroll
	for (f32 &x : p.v) x = power<T>(x - most);
}

template <class P> DEVICE void times(P &p, f32 factor) {
#pragma unroll
	for (f32 &x : p.v) x *= factor;
}

template <int N, class T> DEVICE void softmaxHeld(Block &team, T *dst, const T *src, u32 cols, f32 scale) {
	Words<sizeof(T) * N> w[pieces<N>()];
	read<N>(w, src, cols, least<T>());
	Piece<T, N> p[pieces<N>()];
	f32 most = Max::none(), sum = 0;
	eachHeld<N>(cols, [&](int k, bool is, u32) {
		p[k].of(w[k]);
		if (is) most = scaled(p[k], scale, most);
	});
	most = anchor(team.template across<Max>(most));
	eachHeld<N>(cols, [&](int k, bool is, u32) {
		if (N > 1 && !is) return;
		powers(p[k], most);
		sum += p[k].sum();
	});
	sum = reciprocal(team.template across<Add>(sum));
	T *to = mine<N>(dst);
	eachHeld<N>(cols, [&](int k, bool is, u32 o) {
		if (!is) return;
		times(p[k], sum);
		p[k].store(to + o);
	});
}

template <int N, class T, class Team> DEVICE void softmaxLong(Team &team, T *dst, const T *src, const Split<N> &s, f32 scale) {
	f32 most = Max::none(), sum = 0;
	forth(src, s, [&](auto &p, u64) {
		f32 m = scaled(p, scale, most);
		powers(p, anchor(m));
		sum = sum * expf(most - anchor(m)) + p.sum();
		most = m;
	});
	f32 all = anchor(team.template across<Max>(most));
	sum = reciprocal(team.template across<Add>(sum * expf(most - all)));
	back(src, s, [&](auto &p, u64 i) {
		scaled(p, scale, 0);
		powers(p, all);
		times(p, sum);
		p.storeLast(dst + i);
	});
}

// softmaxTwice is for rows that are not kept.
template <class T, class Team> DEVICE void softmaxTwice(Team &team, T *dst, const T *src, u64 cols, f32 scale) {
	if (together(dst, src)) softmaxLong(team, dst, src, Split<16 / sizeof(T)>(cols, src), scale);
	else softmaxLong(team, dst, src, Split<1>(cols, src), scale);
}

template <class T>
DEVICE void softmax(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) {
	const int N = 16 / sizeof(T);
	Block team;
	// Each loop has the registers for itself.
	if (packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && fits<N>(cols))
		eachRow(rows, cols, [&](u64 r, u32 n) { softmaxHeld<N>(team, dst + r * dstPitch, src + r * srcPitch, n, scale); });
	else if (fits<1>(cols))
		eachRow(rows, cols, [&](u64 r, u32 n) { softmaxHeld<1>(team, dst + r * dstPitch, src + r * srcPitch, n, scale); });
	else
		eachRow(rows, cols, [&](u64 r, u64 n) { softmaxTwice(team, dst + r * dstPitch, src + r * srcPitch, n, scale); });
}

#define SOFTMAX(NAME, T) \
	KERNEL_ROWS softmax_##NAME(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) { \
		softmax(dst, src, rows, cols, dstPitch, srcPitch, scale); \
	}
