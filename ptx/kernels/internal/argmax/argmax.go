// Package argmax contains the kernels of kernels.ArgmaxRows.
package argmax

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

// argmax finds the largest element of type T, which has a key of type K.
//
//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32,i32 half,i32 f64,i64 i32,i32 i64,i64
func argmax[T rows.Element, K i32 | i64](t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, of rows.Half) {
	rows.Argmax[T, K](t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, of)
}
