// Normalisation of rows, in f32 whatever the elements are.
//
// RMS norm: dst = src / sqrt(mean(src²) + eps) * weight.
// Layer norm: dst = (src - mean) / sqrt(mean((src - mean)²) + eps) * weight + bias.
// weight and bias have one element per column; no address stands for ones and
// zeros.
//
// A row of up to 32 values per thread is read once and stays in registers. A
// longer one is read again for each pass: two for RMS, three for layer norm.
//: rmsnorm_.* >dst*$2 <src*$2 <weight*$2 rows cols dst_pitch src_pitch eps
//: layernorm_.* >dst*$2 <src*$2 <weight*$2 <bias*$2 rows cols dst_pitch src_pitch eps
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

// finish turns values less their mean into results.
template <class T, int N>
DEVICE void finish(Piece<T, N> &p, T *dst, const T *weight, const T *bias, u64 i, f32 factor) {
	Piece<T, N> w, b;
	w.set(1);
	b.set(0);
	if (weight) w.load(weight + i);
	if (bias) b.load(bias + i);
#pragma unroll
	for (int e = 0; e < N; e++) p.v[e] = p.v[e] * factor * w.v[e] + b.v[e];
	p.store(dst + i);
}

template <bool CENTRE, class T>
DEVICE void normHeld(T *dst, const T *src, const T *weight, const T *bias, u32 cols, f32 eps) {
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
	EACH_HELD(k, i, N) if (i < cols) finish(p[k], dst, weight, bias, i, factor);
}

template <bool CENTRE, int N, class T>
DEVICE void normLong(T *dst, const T *src, const T *weight, const T *bias, u64 cols, f32 eps) {
	Piece<T, N> p;
	f32 mean = 0, sum = 0;
	if (CENTRE) {
		EACH_PIECE(i, cols, N) {
			p.load(src + i);
			sum += p.sum();
		}
		mean = across<Add>(sum) / cols;
		sum = 0;
	}
	EACH_PIECE(i, cols, N) {
		p.load(src + i);
		less(p, mean);
		sum += squares(p);
	}
	f32 factor = 1 / sqrtf(across<Add>(sum) / cols + eps);
	EACH_PIECE(i, cols, N) {
		p.load(src + i);
		less(p, mean);
		finish(p, dst, weight, bias, i, factor);
	}
}

template <bool CENTRE, class T>
DEVICE void norm(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) {
	bool packs = packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && packed(weight, 0, 0) && packed(bias, 0, 0);
	EACH_ROW(r, rows) {
		T *to = dst + r * dstPitch;
		const T *from = src + r * srcPitch;
		if (!packs) normLong<CENTRE, 1>(to, from, weight, bias, cols, eps);
		else if (fits(cols)) normHeld<CENTRE>(to, from, weight, bias, cols, eps);
		else normLong<CENTRE, 16 / sizeof(T)>(to, from, weight, bias, cols, eps);
	}
}

#define NORM(T) \
	KERNEL_ROWS rmsnorm_##T(T *dst, const T *src, const T *weight, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		norm<false>(dst, src, weight, (const T *)0, rows, cols, dstPitch, srcPitch, eps); \
	} \
	KERNEL_ROWS layernorm_##T(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		norm<true>(dst, src, weight, bias, rows, cols, dstPitch, srcPitch, eps); \
	}

NORM(f32)
NORM(f16)
NORM(bf16)
