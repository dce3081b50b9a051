// Normalisation of rows that are too long for a block, for devices since 9.0.
//: rmsnorm_.* >dst*$2 <src*$2 <weight*$2 rows cols dst_pitch src_pitch eps
//: layernorm_.* >dst*$2 <src*$2 <weight*$2 <bias*$2 rows cols dst_pitch src_pitch eps
#include "cluster.cuh"
#include "norm.cuh"

template <bool CENTRE, class T>
DEVICE void normShared(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) {
	const int N = 16 / sizeof(T);
	const bool keep = packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && packed(weight, 0, 0) && packed(bias, 0, 0) && fits<N>(Share::most(cols)) && Staged<T>::fits();
	const f32 part = 1.0f / cols;
	const Share own(cols);
	Cluster team;
	dst += own.first, src += own.first;
	if (weight) weight += own.first;
	if (bias) bias += own.first;
	if (keep) {
		Staged<T> from(src, rows, srcPitch, own.n);
		eachLongRow(rows, [&](u64 r) { normHeld<CENTRE, N, T, Staged<T> &>(team, dst + r * dstPitch, from, weight, bias, own.n, part, eps); });
	} else {
		eachLongRow(rows, [&](u64 r) { normTwice<CENTRE>(team, dst + r * dstPitch, src + r * srcPitch, weight, bias, own.n, part, eps); });
	}
}

#define SHARED(T) \
	KERNEL_CLUSTERS rmsnorm_##T##_sm90(T *dst, const T *src, const T *weight, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		normShared<false>(dst, src, weight, (const T *)0, rows, cols, dstPitch, srcPitch, eps); \
	} \
	KERNEL_CLUSTERS layernorm_##T##_sm90(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		normShared<true>(dst, src, weight, bias, rows, cols, dstPitch, srcPitch, eps); \
	}

SHARED(f32)
SHARED(f16)
SHARED(bf16)
