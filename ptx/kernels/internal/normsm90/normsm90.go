// Package normsm90 contains the kernels of kernels.RMSNorm and kernels.LayerNorm for sm_90 and later.
package normsm90

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module -target sm_90

//gpu:kernel maxblock=512 regs=56 name=norm_sm90
func norm(t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.NormInClusters(t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of)
}

//gpu:kernel maxblock=128 minblocks=8 name=norm_short_sm90
func shortNorm(t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.NormOfBundles(t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of)
}
