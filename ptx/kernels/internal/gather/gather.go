// Package gather contains the kernels of kernels.Gather.
package gather

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// gather sets row i of dst to row index[i] of src, which has the given number of rows, and to zeros if
// there is no such row. Rows have width bytes, without gaps. Indices are of type int32 or, if wide is not 0, int64.
//
//gpu:kernel block=256
func gather(t gpu.Thread, dst, n, width, src, rows, index uint64, wide uint32) {
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
	for ; i < total; i += step {
		var w pack.Words
		var from int64
		if wide != 0 {
			from = gpu.ViewAt[int64](index, int(n)).At(int(row))
		} else {
			from = int64(gpu.ViewAt[int32](index, int(n)).At(int(row)))
		}
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
