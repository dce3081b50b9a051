// Normalisation of rows, in f32 whatever the elements are.
//
// RMS norm: dst = src / sqrt(mean(src²) + eps) * weight.
// Layer norm: dst = (src - mean) / sqrt(mean((src - mean)²) + eps) * weight + bias.
// weight and bias have one element per column; no address stands for ones and
// zeros.
//
// A row of up to 32 values per thread is read once and stays in registers. A
// longer one is read twice.
#pragma once
#include "rows.cuh"

// less subtracts.
template <class P> DEVICE void less(P &p, f32 mean) {
#pragma unroll
	for (f32 &x : p.v) x -= mean;
}

template <class P> DEVICE f32 squares(const P &p) {
	f32 sum = 0;
#pragma unroll
	for (f32 x : p.v) sum += x * x;
	return sum;
}

// finish turns values less their mean into results. ANY is for a weight and a
// bias that need not be aligned there.
template <bool ANY, class T, int N> DEVICE void finish(Piece<T, N> &p, const T *weight, const T *bias, u64 i, f32 factor) {
	Piece<T, N> w, b;
	w.set(1);
	b.set(0);
	if (weight) ANY ? w.loadAny(weight + i) : w.load(weight + i);
	if (bias) ANY ? b.loadAny(bias + i) : b.load(bias + i);
#pragma unroll
	for (int e = 0; e < N; e++) p.v[e] = p.v[e] * factor * w.v[e] + b.v[e];
}

template <bool CENTRE, class T>
DEVICE void normPacked(T *dst, const T *src, const T *weight, const T *bias, u32 cols, f32 eps) {
	const int N = 16 / sizeof(T);
	Piece<T, N> p[held / N];
	f32 sum = 0;
	EACH_HELD(k, i, N) {
		p[k].set(0);
		if (i < cols) p[k].load(src + i);
	}
	if (CENTRE) {
		EACH_HELD(k, i, N) sum += p[k].sum();
		f32 mean = across<Add>(sum) / cols;
		sum = 0;
		EACH_HELD(k, i, N) if (i < cols) less(p[k], mean);
	}
	EACH_HELD(k, i, N) sum += squares(p[k]);
	f32 factor = 1 / sqrtf(across<Add>(sum) / cols + eps);
	EACH_HELD(k, i, N) if (i < cols) {
		finish<false>(p[k], weight, bias, i, factor);
		p[k].store(dst + i);
	}
}

template <bool CENTRE, int N, class T>
DEVICE void normHeld(T *dst, const T *src, const Split<N> &s, const T *weight, const T *bias, f32 eps) {
	Held<T, N> row(src, s, 0);
	f32 sum = 0;
	if (CENTRE) {
		row.each([&](auto &p) { sum += p.sum(); });
		f32 mean = across<Add>(sum) / s.n;
		sum = 0;
		row.each([&](auto &p) { less(p, mean); });
	}
	row.each([&](auto &p) { sum += squares(p); });
	f32 factor = 1 / sqrtf(across<Add>(sum) / s.n + eps);
	row.eachAt(s, [&](auto &p, u32 i) {
		finish<true>(p, weight, bias, i, factor);
		p.store(dst + i);
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
template <int N, class T> DEVICE f32 centred(const T *src, const Split<N> &s, f32 &squared) {
	Moments own = {0, 0, 0};
	forth(src, s, [&](auto &p, u64) { own.add(p); });
	f32 mean = across<Add>(own.n * own.mean) / s.n, d = own.mean - mean;
	squared = across<Add>(own.squared + own.n * d * d);
	return mean;
}

template <bool CENTRE, int N, class T>
DEVICE void normLong(T *dst, const T *src, const Split<N> &s, const T *weight, const T *bias, f32 eps) {
	f32 mean = 0, sum = 0;
	if (CENTRE) {
		mean = centred(src, s, sum);
	} else {
		forth(src, s, [&](auto &p, u64) { sum += squares(p); });
		sum = across<Add>(sum);
	}
	f32 factor = 1 / sqrtf(sum / s.n + eps);
	back(src, s, [&](auto &p, u64 i) {
		less(p, mean);
		finish<true>(p, weight, bias, i, factor);
		p.storeLast(dst + i);
	});
}

template <bool CENTRE, class T>
DEVICE void norm(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) {
	const int N = 16 / sizeof(T);
	bool packs = packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && packed(weight, 0, 0) && packed(bias, 0, 0) && fits(cols);
	if (packs) { // a loop of its own has the registers for itself
		EACH_ROW(r, rows) normPacked<CENTRE>(dst + r * dstPitch, src + r * srcPitch, weight, bias, cols, eps);
		return;
	}
	EACH_ROW(r, rows) {
		T *to = dst + r * dstPitch;
		const T *from = src + r * srcPitch;
		Split<N> s(cols, from);
		if (!together(to, from)) normLong<CENTRE>(to, from, Split<1>(cols, from), weight, bias, eps);
		else if (Held<T, N>::takes(s)) normHeld<CENTRE>(to, from, s, weight, bias, eps);
		else normLong<CENTRE>(to, from, s, weight, bias, eps);
	}
}

#define NORM(NAME, T) \
	KERNEL_ROWS rmsnorm_##NAME(T *dst, const T *src, const T *weight, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		norm<false>(dst, src, weight, (const T *)0, rows, cols, dstPitch, srcPitch, eps); \
	} \
	KERNEL_ROWS layernorm_##NAME(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		norm<true>(dst, src, weight, bias, rows, cols, dstPitch, srcPitch, eps); \
	}
