// Package gemv contains the kernels of kernels.Gemv and kernels.GemvRMSNorm.
package gemv

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// matrix is the type of the elements of a, and vector that of the others.
//
//gpu:kernel maxblock=512 minblocks=2
func gemv(t gpu.Thread, y, a, x, rowCount, cols, pitch uint64, matrix rows.Half, weight uint64, eps float32, normed uint32, vector rows.Half) {
	rows.Gemv(t, y, a, x, rowCount, cols, pitch, matrix, vector, rows.Scaled{Weight: weight, Eps: eps, On: normed})
}
