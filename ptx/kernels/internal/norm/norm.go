// Package norm contains the kernel of kernels.RMSNorm and kernels.LayerNorm.
package norm

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

//gpu:kernel maxblock=512 minblocks=2
func norm(t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.Norm(t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of)
}
