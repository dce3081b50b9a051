// Package gemv contains the kernels of kernels.Gemv and kernels.GemvRMSNorm.
package gemv

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The names of types in the names of kernels.
type (
	f32  = float32
	half = uint16
)

//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32,f32 half,half half,f32
func gemv[A, X rows.Float](t gpu.Thread, y, a, x, rowCount, cols, pitch uint64, of rows.Half, weight uint64, eps float32, normed uint32) {
	rows.Gemv[A, X](t, y, a, x, rowCount, cols, pitch, of, rows.Scaled{Weight: weight, Eps: eps, On: normed})
}
