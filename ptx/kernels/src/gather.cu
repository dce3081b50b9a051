// Row i of dst is row index[i] of src, which has `rows` rows; where there is no
// such row it is zeros. Rows have `width` bytes, without gaps.
//: gather_.* >dst* n width <src* rows <index*$2
#include "common.cuh"

// Unit is what is moved in one access.
template <class Unit, class I> DEVICE void gather(Unit *dst, u64 n, u64 width, const Unit *src, u64 rows, const I *index) {
	width /= sizeof(Unit);
	u64 i = threadNumber(), step = threadCount(), total = n * width;
	if (i >= total) return;
	// Nothing is divided after the beginning.
	u64 row = i / width, column = i % width, rowsOn = step / width, on = step % width;
	Unit zero;
	memset(&zero, 0, sizeof zero);
	for (; i < total; i += step) {
		I from = index[row];
		bool there = from >= 0 && (u64)from < rows;
		dst[i] = there ? src[(u64)from * width + column] : zero;
		row += rowsOn;
		column += on;
		if (column >= width) {
			column -= width;
			row++;
		}
	}
}

template <class I> DEVICE void any(u8 *dst, u64 n, u64 width, const u8 *src, u64 rows, const I *index) {
	u64 odd = (u64)dst | (u64)src | width;
	if (odd % 16 == 0)
		gather((uint4 *)dst, n, width, (const uint4 *)src, rows, index);
	else if (odd % 8 == 0)
		gather((uint2 *)dst, n, width, (const uint2 *)src, rows, index);
	else if (odd % 4 == 0)
		gather((u32 *)dst, n, width, (const u32 *)src, rows, index);
	else if (odd % 2 == 0)
		gather((u16 *)dst, n, width, (const u16 *)src, rows, index);
	else
		gather(dst, n, width, src, rows, index);
}

KERNEL gather_i32(u8 *dst, u64 n, u64 width, const u8 *src, u64 rows, const i32 *index) { any(dst, n, width, src, rows, index); }
KERNEL gather_i64(u8 *dst, u64 n, u64 width, const u8 *src, u64 rows, const i64 *index) { any(dst, n, width, src, rows, index); }
