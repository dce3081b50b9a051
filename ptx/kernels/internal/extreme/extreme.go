// Package extreme contains the kernels of kernels.MaxRows, kernels.MinRows and kernels.ArgmaxRows.
package extreme

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

// extreme finds the largest or the smallest element, which has a key of type K, or its index. half is the type of
// elements of 16 bits. of combines the constants of package rows that select what it does. With 48 registers, a
// multiprocessor has five blocks of 256 threads instead of four. Only values that are used once for each row are spilled.
//
//gpu:kernel maxblock=512 minblocks=2 regs=48
//gpu:instance b32 b64
func extreme[K b32 | b64](t gpu.Thread, dst, src, rowCount, cols, pitch uint64, parts uint32, work uint64, half, of uint32) {
	rows.Extremes[K](t, rows.Reduction{Dst: dst, Src: src, Rows: rowCount, Cols: cols, Pitch: pitch, Parts: parts, Work: work}, rows.Half(half), of, false)
}
