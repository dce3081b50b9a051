// Normalisation of rows that are too long for a block, for devices since 9.0.
//: rmsnorm_.* >dst*$2 <src*$2 <weight*$2 rows cols dst_pitch src_pitch eps
//: layernorm_.* >dst*$2 <src*$2 <weight*$2 <bias*$2 rows cols dst_pitch src_pitch eps
#include "cluster.cuh"
#include "norm.cuh"

template <bool CENTRE, class T>
DEVICE void normShared(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) {
	const f32 part = 1.0f / cols;
	const Share own(cols);
	Cluster team;
	dst += own.first, src += own.first;
	if (weight) weight += own.first;
	if (bias) bias += own.first;
	const bool keep = packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && packed(weight, 0, 0) && packed(bias, 0, 0) && Packs<T>::fits(Share::most(cols));
	if (!keep)
		return eachLongRow(rows, [&](u64 r) { normTwice<CENTRE>(team, dst + r * dstPitch, src + r * srcPitch, weight, bias, own.n, part, eps); });
	eachLongRow(rows, [&](u64 r) { normHeld<CENTRE, Packs<T>::N>(team, Packs<T>(), dst + r * dstPitch, src + r * srcPitch, weight, bias, own.n, part, eps); });
}

#define SHARED(T) \
	KERNEL_ROWS rmsnorm_##T##_sm90(T *dst, const T *src, const T *weight, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		normShared<false>(dst, src, weight, (const T *)0, rows, cols, dstPitch, srcPitch, eps); \
	} \
	KERNEL_ROWS layernorm_##T##_sm90(T *dst, const T *src, const T *weight, const T *bias, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 eps) { \
		normShared<true>(dst, src, weight, bias, rows, cols, dstPitch, srcPitch, eps); \
	}

SHARED(f32)
SHARED(f16)
SHARED(bf16)
