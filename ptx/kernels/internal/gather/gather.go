// Package gather contains the kernels of kernels.Gather.
package gather

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The names of types in the names of kernels.
type (
	i32 = int32
	i64 = int64
)

// gather sets row i of dst to row index[i] of src, which has the given number of rows, and to zeros if
// there is no such row. Rows have width bytes, without gaps.
//
//gpu:kernel block=256
//gpu:instance i32 i64
func gather[I i32 | i64](t gpu.Thread, dst, n, width, src, rows, index uint64) {
	unit := pack.UnitOf(dst | src | width)
	shift := bits.TrailingZeros32(uint32(unit))
	width >>= shift
	i, step, total := uint64(t.GlobalX()), uint64(t.GridStrideX()), n*width
	if i >= total {
		return
	}
	// Nothing is divided after the beginning.
	row, rowsOn := pack.Div(i, width), pack.Div(step, width)
	column, on := i-row*width, step-rowsOn*width
	indices := gpu.ViewAt[I](index, int(n))
	for ; i < total; i += step {
		var w pack.Words
		from := int64(indices.At(int(row)))
		if uint64(from) < rows { // not if from is negative
			w = pack.LoadUnit(src+(uint64(from)*width+column)<<shift, unit)
		}
		pack.StoreUnit(dst+i<<shift, unit, w)
		row += rowsOn
		column += on
		if column >= width {
			column -= width
			row++
		}
	}
}
