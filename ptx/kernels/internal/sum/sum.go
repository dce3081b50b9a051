// Package sum contains the kernels of kernels.Sum and kernels.SumRows.
package sum

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The type names that appear in the names of kernels.
type (
	f32 = float32
	b64 = int64
)

// sum adds elements in type S: floats in float32, and words and elements of 8 bytes in 8 bytes. of is the type of the
// elements: a rows.Half or rows.F32, or one of those that are added in 8 bytes.
//
//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32 b64
func sum[S rows.Sum](t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, of uint32) {
	rows.Sums[S](t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, of)
}
