// Package sum contains the kernels of kernels.Sum and kernels.SumRows.
package sum

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The type names that appear in the names of kernels.
type (
	b32 = int32
	b64 = int64
)

// floats adds elements of type half, which can be rows.F32, in float32.
//
//gpu:kernel maxblock=512 minblocks=2 name=sum_f32
func floats(t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, half rows.Half) {
	rows.Sums(t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, half)
}

// long adds elements with the size of T in 8 bytes. of is what they are, such as rows.Unsigned.
//
//gpu:kernel maxblock=512 minblocks=2 name=sum
//gpu:instance b32 b64
func long[T b32 | b64](t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, of uint32) {
	rows.LongSums[T](t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, of)
}
