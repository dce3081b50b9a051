// Softmax of rows: dst[r][c] = exp(scale*src[r][c] - m) / the row's sum of these,
// where m is the row's largest scaled value. In f32, whatever the elements are.
//
// A row of up to 32 values per thread is read once and stays in registers. A
// longer one is read twice: for its largest value and its sum together, and
// again to write.
#pragma once
#include "rows.cuh"

// A row of nothing but -Inf has no largest value to subtract.
DEVICE f32 anchor(f32 most) { return most == -infinity() ? 0 : most; }

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

// heldPacks reads a thread's packs of a row. What there is less of than fits is
// nothing.
template <class T, int N> DEVICE void heldPacks(Piece<T, N> (&p)[held / N], const T *src, u32 cols) {
	if constexpr (sizeof(T) == 4) {
		EACH_HELD(k, i, N) {
			p[k].set(Max::none());
			if (i < cols) p[k].load(src + i);
		}
	} else { // all of them before any is taken apart, which waits for it
		Words<16> w[held / N];
		EACH_HELD(k, i, N) if (i < cols) w[k].load(src + i);
		EACH_HELD(k, i, N) {
			p[k].set(Max::none());
			if (i < cols) p[k].of(w[k]);
		}
	}
}

template <class T> DEVICE void softmaxPacked(T *dst, const T *src, u32 cols, f32 scale) {
	const int N = 16 / sizeof(T);
	Piece<T, N> p[held / N];
	f32 most = Max::none(), sum = 0;
	heldPacks(p, src, cols);
	EACH_HELD(k, i, N) if (i < cols) most = scaled(p[k], scale, most);
	most = anchor(across<Max>(most));
	EACH_HELD(k, i, N) if (i < cols) {
		powers(p[k], most);
		sum += p[k].sum();
	}
	sum = 1 / across<Add>(sum);
	EACH_HELD(k, i, N) if (i < cols) {
		times(p[k], sum);
		p[k].store(dst + i);
	}
}

template <int N, class T> DEVICE void softmaxHeld(T *dst, const T *src, const Split<N> &s, f32 scale) {
	Held<T, N> row(src, s, Max::none());
	f32 most = Max::none(), sum = 0;
	row.each([&](auto &p) { most = scaled(p, scale, most); });
	most = anchor(across<Max>(most));
	row.each([&](auto &p) {
		powers(p, most);
		sum += p.sum();
	});
	sum = 1 / across<Add>(sum);
	row.eachAt(s, [&](auto &p, u32 i) {
		times(p, sum);
		p.store(dst + i);
	});
}

template <int N, class T> DEVICE void softmaxLong(T *dst, const T *src, const Split<N> &s, f32 scale) {
	f32 most = Max::none(), sum = 0;
	forth(src, s, [&](auto &p, u64) {
		f32 m = scaled(p, scale, most);
		powers(p, anchor(m));
		sum = sum * expf(most - anchor(m)) + p.sum();
		most = m;
	});
	f32 all = anchor(across<Max>(most));
	sum = 1 / across<Add>(sum * expf(most - all));
	back(src, s, [&](auto &p, u64 i) {
		scaled(p, scale, 0);
		powers(p, all);
		times(p, sum);
		p.storeLast(dst + i);
	});
}

template <class T>
DEVICE void softmax(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) {
	const int N = 16 / sizeof(T);
	bool packs = packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && fits(cols);
	if (packs) { // a loop of its own has the registers for itself
		EACH_ROW(r, rows) softmaxPacked(dst + r * dstPitch, src + r * srcPitch, cols, scale);
		return;
	}
	EACH_ROW(r, rows) {
		T *to = dst + r * dstPitch;
		const T *from = src + r * srcPitch;
		Split<N> s(cols, from);
		if (!together(to, from)) softmaxLong(to, from, Split<1>(cols, from), scale);
		else if (Held<T, N>::takes(s)) softmaxHeld(to, from, s, scale);
		else softmaxLong(to, from, s, scale);
	}
}

#define SOFTMAX(NAME, T) \
	KERNEL_ROWS softmax_##NAME(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) { \
		softmax(dst, src, rows, cols, dstPitch, srcPitch, scale); \
	}
