// Casts of integers to floats, and to integers of other sizes, where the sign of
// the destination makes no difference.
//: cast_.* >dst*$3 <src*$2 n
//: copy_.* >dst*$2 <src*$2 n
#include "cast.cuh"

CAST(i8, f16)
CAST(i8, bf16)
CAST4(i8, f32)
CAST4(i8, f64)
CAST(i8, u16)
CAST(i8, u32)
CAST(i8, u64)
CAST(u8, f16)
CAST(u8, bf16)
CAST4(u8, f32)
CAST4(u8, f64)
CAST(u8, u16)
CAST(u8, u32)
CAST(u8, u64)
TO_FLOATS(i16)
CAST(i16, u32)
CAST(i16, u64)
TO_FLOATS(u16)
CAST(u16, u8)
CAST(u16, u32)
CAST(u16, u64)
TO_FLOATS(i32)
CAST(i32, u64)
TO_FLOATS(u32)
CAST(u32, u8)
CAST(u32, u16)
CAST(u32, u64)
TO_FLOATS(i64)
TO_FLOATS(u64)
CAST(u64, u8)
CAST(u64, u16)
CAST(u64, u32)

// The same bits.
#define COPY(bits) \
	KERNEL copy_b##bits(u##bits *dst, const u##bits *src, u64 n) { cast<4>(dst, src, n); }
COPY(8)
COPY(16)
COPY(32)
COPY(64)
