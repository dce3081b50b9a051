// Package norm contains the kernels of kernels.RMSNorm and kernels.LayerNorm.
package norm

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The type names that appear in the names of kernels.
type (
	f32  = float32
	half = uint16
)

//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32 half
func rmsnorm[T rows.Float](t gpu.Thread, dst, src, weight, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.RMSNorm[T](t, dst, src, weight, rowCount, cols, dstPitch, srcPitch, eps, of)
}

//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32 half
func layernorm[T rows.Float](t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.LayerNorm[T](t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of)
}
