// dst[b][j][i] = src[b][i][j], for b < batches, i < rows, j < columns.
//: transpose_.* >dst*$2 <src*$2 batches rows columns
#include "common.cuh"

// A block moves tiles through shared memory, so that both sides are accessed
// along rows. The column that is too many keeps the banks apart. Each thread has
// all its elements of a tile on their way at once.
template <u32 side, class T> DEVICE void transpose(T *dst, const T *src, u64 batches, u64 rows, u64 columns) {
	const u32 high = threads / side, each = side / high;
	__shared__ T tile[side][side + 1];
	u64 across = (columns + side - 1) / side, down = (rows + side - 1) / side;
	u32 x = threadIdx.x % side, y = threadIdx.x / side;
	for (u64 t = blockIdx.x; t < batches * across * down; t += gridDim.x) {
		u64 j0 = t % across * side, i0 = t / across % down * side, matrix = t / across / down * rows * columns;
		const T *from = src + matrix + (i0 + y) * columns + j0 + x;
		T *to = dst + matrix + (j0 + y) * rows + i0 + x;
		if (i0 + side <= rows && j0 + side <= columns) {
			T v[each];
#pragma unroll
			for (u32 k = 0; k < each; k++) v[k] = from[k * high * columns];
#pragma unroll
			for (u32 k = 0; k < each; k++) tile[y + k * high][x] = v[k];
			__syncthreads();
#pragma unroll
			for (u32 k = 0; k < each; k++) to[k * high * rows] = tile[x][y + k * high];
		} else {
#pragma unroll 1
			for (u32 k = 0; k < side; k += high)
				if (i0 + y + k < rows && j0 + x < columns) tile[y + k][x] = from[k * columns];
			__syncthreads();
#pragma unroll 1
			for (u32 k = 0; k < side; k += high)
				if (j0 + y + k < columns && i0 + x < rows) to[k * rows] = tile[x][y + k];
		}
		__syncthreads();
	}
}

KERNEL transpose_b8(u8 *dst, const u8 *src, u64 batches, u64 rows, u64 columns) { transpose<64>(dst, src, batches, rows, columns); }
KERNEL transpose_b16(u16 *dst, const u16 *src, u64 batches, u64 rows, u64 columns) { transpose<64>(dst, src, batches, rows, columns); }
KERNEL transpose_b32(u32 *dst, const u32 *src, u64 batches, u64 rows, u64 columns) { transpose<64>(dst, src, batches, rows, columns); }
KERNEL transpose_b64(u64 *dst, const u64 *src, u64 batches, u64 rows, u64 columns) { transpose<32>(dst, src, batches, rows, columns); }
