// dst[b][j][i] = src[b][i][j], for b < batches, i < rows, j < columns.
//: transpose_.* dst* src* batches rows columns
#include "common.cuh"

// A block moves tiles through shared memory, so that both sides are accessed
// along rows. The column that is too many keeps the banks apart.
template <class T> DEVICE void transpose(T *dst, const T *src, u64 batches, u64 rows, u64 columns) {
	const u32 side = 32, high = threads / side;
	__shared__ T tile[side][side + 1];
	u64 across = (columns + side - 1) / side, down = (rows + side - 1) / side;
	u32 x = threadIdx.x % side, y = threadIdx.x / side;
	for (u64 t = blockIdx.x; t < batches * across * down; t += gridDim.x) {
		u64 j0 = t % across * side, i0 = t / across % down * side, matrix = t / across / down * rows * columns;
#pragma unroll
		for (u32 k = 0; k < side; k += high)
			if (i0 + y + k < rows && j0 + x < columns)
				tile[y + k][x] = src[matrix + (i0 + y + k) * columns + j0 + x];
		__syncthreads();
#pragma unroll
		for (u32 k = 0; k < side; k += high)
			if (j0 + y + k < columns && i0 + x < rows)
				dst[matrix + (j0 + y + k) * rows + i0 + x] = tile[x][y + k];
		__syncthreads();
	}
}

KERNEL transpose_b8(u8 *dst, const u8 *src, u64 batches, u64 rows, u64 columns) { transpose(dst, src, batches, rows, columns); }
KERNEL transpose_b16(u16 *dst, const u16 *src, u64 batches, u64 rows, u64 columns) { transpose(dst, src, batches, rows, columns); }
KERNEL transpose_b32(u32 *dst, const u32 *src, u64 batches, u64 rows, u64 columns) { transpose(dst, src, batches, rows, columns); }
KERNEL transpose_b64(u64 *dst, const u64 *src, u64 batches, u64 rows, u64 columns) { transpose(dst, src, batches, rows, columns); }
