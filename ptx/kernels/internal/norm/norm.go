// Package norm contains the kernels of kernels.RMSNorm and kernels.LayerNorm.
package norm

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

//gpu:kernel maxblock=512 minblocks=2
func rmsnorm(t gpu.Thread, dst, src, weight, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.RMSNorm(t, dst, src, weight, rowCount, cols, dstPitch, srcPitch, eps, of)
}

//gpu:kernel maxblock=512 minblocks=2
func layernorm(t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.LayerNorm(t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of)
}
