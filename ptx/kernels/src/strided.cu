// Copies runs of bytes between places that strides give: see Strided.
//: strided_copy >dst* <src* s:Strided
#include "common.cuh"

// Strided is what is copied. Strides and offsets are in bytes; dimensions that
// are not used come first and have extent 1.
struct Strided {
	u64 runs, run; // how many runs, and the bytes of each
	i64 to, from;  // where the first one begins
	u64 extent[8];
	i64 toStride[8], fromStride[8];
};

template <class Unit, class Index> DEVICE void copy(u8 *dst, const u8 *src, const Strided &s, u32 first) {
	const u64 units = s.run / sizeof(Unit), total = s.runs * units;
	for (u64 i = threadNumber(); i < total; i += threadCount()) {
		Index left = (Index)i / (Index)units;
		i64 within = (Index)i % (Index)units * sizeof(Unit);
		i64 to = s.to + within, from = s.from + within;
#pragma unroll 1
		for (u32 d = 7; d > first; d--) {
			Index extent = (Index)s.extent[d], at = left % extent;
			left /= extent;
			to += (i64)at * s.toStride[d];
			from += (i64)at * s.fromStride[d];
		}
		to += (i64)left * s.toStride[first];
		from += (i64)left * s.fromStride[first];
		*(Unit *)(dst + to) = *(const Unit *)(src + from);
	}
}

template <class Unit> DEVICE void copyUnits(u8 *dst, const u8 *src, const Strided &s, u32 first) {
	if (s.runs * (s.run / sizeof(Unit)) >> 32 == 0)
		copy<Unit, u32>(dst, src, s, first);
	else
		copy<Unit, u64>(dst, src, s, first);
}

KERNEL strided_copy(u8 *dst, const u8 *src, Strided s) {
	if (s.runs == 0 || s.run == 0) return;
	u32 first = 7; // the first dimension that is used
	u64 odd = (u64)dst | (u64)src | s.run | s.to | s.from;
#pragma unroll 1
	for (u32 d = 0; d < 8; d++)
		if (s.extent[d] != 1) {
			first = d < first ? d : first;
			odd |= s.toStride[d] | s.fromStride[d];
		}
	if (odd % 16 == 0)
		copyUnits<uint4>(dst, src, s, first);
	else if (odd % 8 == 0)
		copyUnits<uint2>(dst, src, s, first);
	else if (odd % 4 == 0)
		copyUnits<u32>(dst, src, s, first);
	else if (odd % 2 == 0)
		copyUnits<u16>(dst, src, s, first);
	else
		copyUnits<u8>(dst, src, s, first);
}
