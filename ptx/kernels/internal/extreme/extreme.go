// Package extreme contains the kernels of kernels.MaxRows and kernels.MinRows.
package extreme

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The type names that appear in the names of kernels.
type (
	f32  = float32
	f64  = float64
	half = uint16
	i32  = int32
	i64  = int64
)

// extreme finds the largest element of type T, compared in type V, or the smallest.
//
//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32,f32 half,f32 f64,f64 i32,i32 i64,i64
func extreme[T rows.Element, V rows.Comparable](t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, of rows.Half, smallest uint32) {
	rows.Extremes[T, V](t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, of, smallest != 0)
}
