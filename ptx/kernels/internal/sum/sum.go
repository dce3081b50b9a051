// Package sum contains the kernels of kernels.Sum and kernels.SumRows.
package sum

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The type names that appear in the names of kernels.
type (
	f32  = float32
	half = uint16
	b32  = int32
	b64  = int64
)

// sum adds elements of type T in type S: words in 8 bytes, and floats in float32. of is the type of the elements: a
// rows.Kind of words, and otherwise a rows.Half.
//
//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32,f32 half,f32 b32,b64 b64,b64
func sum[T rows.Element, S rows.Sum](t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, of uint32) {
	rows.Sums[S, T](t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, rows.Half(of), rows.Kind(of))
}
