// Softmax of rows: dst[r][c] = exp(scale*src[r][c] - m) / the row's sum of these,
// where m is the row's largest scaled value. In f32, whatever the elements are.
//
// A row of up to 32 values per thread is read once and stays in registers. A
// longer one is read twice: for its largest value and its sum together, and
// again to write.
//: softmax_.* >dst*$2 <src*$2 rows cols dst_pitch src_pitch scale
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

// powers replaces each value by exp(value - most).
template <class P> DEVICE void powers(P &p, f32 most) {
#pragma unroll
	for (f32 &x : p.v) x = expf(x - most);
}

template <class P> DEVICE void times(P &p, f32 factor) {
#pragma unroll
	for (f32 &x : p.v) x *= factor;
}

template <class T> DEVICE void softmaxHeld(T *dst, const T *src, u32 cols, f32 scale) {
	const int N = 16 / sizeof(T);
	Piece<T, N> p[held / N];
	f32 most = Max::none(), sum = 0;
	EACH_HELD(k, i, N) {
		p[k].set(Max::none());
		if (i < cols) p[k].load(src + i);
	}
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

template <int N, class T> DEVICE void softmaxLong(T *dst, const T *src, u64 cols, f32 scale) {
	Piece<T, N> p;
	f32 most = Max::none(), sum = 0;
	EACH_PIECE(i, cols, N) {
		p.load(src + i);
		f32 m = scaled(p, scale, most);
		powers(p, anchor(m));
		sum = sum * expf(most - anchor(m)) + p.sum();
		most = m;
	}
	f32 all = anchor(across<Max>(most));
	sum = 1 / across<Add>(sum * expf(most - all));
	EACH_PIECE(i, cols, N) {
		p.load(src + i);
		scaled(p, scale, 0);
		powers(p, all);
		times(p, sum);
		p.store(dst + i);
	}
}

template <class T>
DEVICE void softmax(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) {
	bool packs = packed(dst, cols, dstPitch) && packed(src, cols, srcPitch);
	EACH_ROW(r, rows) {
		T *to = dst + r * dstPitch;
		const T *from = src + r * srcPitch;
		if (!packs) softmaxLong<1>(to, from, cols, scale);
		else if (fits(cols)) softmaxHeld(to, from, cols, scale);
		else softmaxLong<16 / sizeof(T)>(to, from, cols, scale);
	}
}

#define SOFTMAX(T) \
	KERNEL_ROWS softmax_##T(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) { \
		softmax(dst, src, rows, cols, dstPitch, srcPitch, scale); \
	}

SOFTMAX(f32)
SOFTMAX(f16)
SOFTMAX(bf16)
