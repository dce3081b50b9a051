// Package extremesm80 contains the kernel of kernels.MaxRows, kernels.MinRows and kernels.ArgmaxRows for floats of 16 and
// 32 bits, for sm_80 and later.
package extremesm80

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module -target sm_80

// extreme is like that of package extreme.
//
//gpu:kernel maxblock=512 minblocks=2 regs=48 name=extreme_b32_sm80
func extreme(t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, half, of uint32) {
	rows.Extremes[int32](t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, rows.Half(half), of, true)
}
