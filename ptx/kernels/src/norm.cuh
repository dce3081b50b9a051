// Normalisation of rows, in f32 whatever the elements are.
//
// RMS norm: dst = src / sqrt(mean(src²) + eps) * weight.
// Layer norm: dst = (src - mean) / sqrt(mean((src - mean)²) + eps) * weight + bias.
// weight and bias have one element per column; no address stands for ones and
// zeros.
//
// A row of up to 32 values per thread is read once and stays in registers, see
// cluster.cuh for more. A longer one is read twice.
#pragma once
#include "rows.cuh"

// less subtracts.
template <class P> DEVICE void less(P &p, f32 mean) {
#pragma unroll
	for (f32 &x : p.v) x -= mean;
}

// rootOf is 1 by the root of x, but for the last bit or two.
DEVICE f32 rootOf(f32 x) {
	f32 y;
	asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

template <class P> DEVICE f32 squares(const P &p) {
	f32 sum = 0;
#pragma unroll
	for (f32 x : p.v) sum += x * x;
	return sum;
}

// ones is a word of elements that are 1.
template <class T> __device__ constexpr u32 ones();
template <> __device__ constexpr u32 ones<f32>() { return 0x3f800000; }
template <> __device__ constexpr u32 ones<f16>() { return 0x3c003c00; }
template <> __device__ constexpr u32 ones<bf16>() { return 0x3f803f80; }

// loadIf loads a pack that nobody writes meanwhile, or leaves what is there. A branch
// would keep the compiler from loading several.
DEVICE void loadIf(bool is, Words<16> &w, const void *p) {
	asm volatile("{ .reg .pred is; setp.ne.u32 is, %5, 0; @is ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
		: "+r"(w.at[0]), "+r"(w.at[1]), "+r"(w.at[2]), "+r"(w.at[3]) : "l"(__cvta_generic_to_global(p)), "r"((u32)is));
}

// given is a weight or bias from column i on, or the number none without any. ANY is
// for one that need not be aligned there.
template <bool ANY, int none, class T, int N> DEVICE Piece<T, N> given(const T *columns, u64 i) {
	Piece<T, N> p;
	if constexpr (!ANY && sizeof(T) * N == 16) {
		Words<16> w;
		fillWords(w, none ? ones<T>() : 0);
		loadIf(columns, w, columns + i);
		p.of(w);
	} else {
		p.set(none);
		if (columns) ANY ? p.loadAny(columns + i) : p.load(columns + i);
	}
	return p;
}

// finish turns values less their mean into results. Only CENTRE has a bias.
template <bool CENTRE, bool ANY, class T, int N> DEVICE void finish(Piece<T, N> &p, const T *weight, const T *bias, u64 i, f32 factor) {
	const Piece<T, N> w = given<ANY, 1, T, N>(weight, i);
	Piece<T, N> b;
	b.set(0);
	if (CENTRE) b = given<ANY, 0, T, N>(bias, i);
#pragma unroll
	for (int e = 0; e < N; e++) p.v[e] = p.v[e] * factor * w.v[e] + b.v[e];
}

// normHeld has cols of the columns of a row, part being 1 by their number.
template <bool CENTRE, int N, class Row, class T, class Team>
DEVICE void normHeld(Team &team, Row &&row, T *dst, const T *src, const T *weight, const T *bias, u32 cols, f32 part, f32 eps) {
	f32 mean = 0, sum = 0;
	row.load(src, cols);
	row.all(cols, [&](auto &p) { sum += CENTRE ? p.sum() : squares(p); });
	if (CENTRE) {
		mean = team.template across<Add>(sum) * part;
		sum = 0;
		row.each(cols, [&](auto &p, u32) {
			less(p, mean);
			sum += squares(p);
		});
	}
	const f32 factor = rootOf(team.template across<Add>(sum) * part + eps);
	T *to = mine<N>(dst);
	if (weight) weight = mine<N>(weight);
	if (bias) bias = mine<N>(bias);
	row.each(cols, [&](auto &p, u32 o) {
		if (CENTRE && row.anew) less(p, mean);
		finish<CENTRE, false>(p, weight, bias, o, factor);
		p.store(to + o);
	});
}

// Moments are the mean of n values and the sum of the squares of their distances
// to it. Pieces are added by what theirs are, which loses nothing where the mean
// is far from 0.
struct Moments {
	f32 n, mean, squared;

	template <class T, int N> __device__ __forceinline__ void add(Piece<T, N> p) {
		f32 m = p.sum() * (1.0f / N), d = m - mean;
		less(p, m);
		f32 part = __fdividef(N, n + N);
		mean += d * part;
		squared += squares(p) + d * d * part * n;
		n += N;
	}
};

// centred is the mean of a long row, and the sum of the squared distances to it.
template <int N, class T, class Team> DEVICE f32 centred(Team &team, const T *src, const Split<N> &s, f32 part, f32 &squared) {
	Moments own = {0, 0, 0};
	forth(src, s, [&](auto &p, u64) { own.add(p); });
	f32 mean = team.template across<Add>(own.n * own.mean) * part, d = own.mean - mean;
	squared = team.template across<Add>(own.squared + own.n * d * d);
	return mean;
}

template <bool CENTRE, int N, class T, class Team>
DEVICE void normLong(Team &team, T *dst, const T *src, const Split<N> &s, const T *weight, const T *bias, f32 part, f32 eps) {
	f32 mean = 0, sum = 0;
	if (CENTRE) {
		mean = centred(team, src, s, part, sum);
	} else {
		forth(src, s, [&](auto &p, u64) { sum += squares(p); });
		sum = team.template across<Add>(sum);
	}
	f32 factor = rootOf(sum * part + eps);
	back(src, s, [&](auto &p, u64 i) {
		less(p, mean);
		finish<CENTRE, true>(p, weight, bias, i, factor);
		p.storeLast(dst + i);
	});
}

// normTwice is for rows that are not kept.
template <bool CENTRE, class T, class Team>
DEVICE void normTwice(Team &team, T *dst, const T *src, const T *weight, const T *bias, u64 cols, f32 part, f32 eps) {
	if (together(dst, src)) normLong<CENTRE>(team, dst, src, Split<16 / sizeof(T)>(cols, src), weight, bias, part, eps);
	else normLong<CENTRE>(team, dst, src, Split<1>(cols, src), weight, bias, part, eps);
}

template <bool CENTRE, class T>
DEVICE void norm(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) {
	const int N = 16 / sizeof(T);
	const f32 part = 1.0f / cols;
	Block team;
	// Each loop has the registers for itself.
	if (packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && packed(weight, 0, 0) && packed(bias, 0, 0) && fits<N>(cols))
		eachRow(rows, cols, [&](u64 r, u32 n) { normHeld<CENTRE, N>(team, Values<T, N>(), dst + r * dstPitch, src + r * srcPitch, weight, bias, n, part, eps); });
	else if (fits<1>(cols))
		eachRow(rows, cols, [&](u64 r, u32 n) { normHeld<CENTRE, 1>(team, Values<T, 1>(), dst + r * dstPitch, src + r * srcPitch, weight, bias, n, part, eps); });
	else
		eachRow(rows, cols, [&](u64 r, u64 n) { normTwice<CENTRE>(team, dst + r * dstPitch, src + r * srcPitch, weight, bias, n, part, eps); });
}

#define NORM(NAME, T) \
	KERNEL_ROWS rmsnorm_##NAME(T *dst, const T *src, const T *weight, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		norm<false>(dst, src, weight, (const T *)0, rows, cols, dstPitch, srcPitch, eps); \
	} \
	KERNEL_ROWS layernorm_##NAME(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		norm<true>(dst, src, weight, bias, rows, cols, dstPitch, srcPitch, eps); \
	}
