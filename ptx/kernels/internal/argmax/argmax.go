// Package argmax contains the kernels of kernels.ArgmaxRows.
package argmax

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The type names that appear in the names of kernels.
type (
	half = uint16
	b32  = int32
	b64  = int64
)

// argmax finds the largest element of type T, which has a key of type K. of is the type of the elements: a rows.Half, or
// 1 for floats of 32 and 64 bits.
//
//gpu:kernel maxblock=512 minblocks=2
//gpu:instance half,b32 b32,b32 b64,b64
func argmax[T rows.Ordered, K b32 | b64](t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, of uint32) {
	rows.Argmax[T, K](t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, rows.Half(of), of != 0)
}
