// Package softmaxsm90 contains the kernels of kernels.Softmax for sm_90 and later.
package softmaxsm90

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module -target sm_90

// With 56 registers, nothing is spilled for elements of 16 bits. Package kernels sets fewer for float32.

//gpu:kernel maxblock=512 regs=56 name=softmax_sm90
func softmax(t gpu.Thread, dst, src, rowCount, cols, dstPitch, srcPitch uint64, scale float32, of rows.Half) {
	rows.SoftmaxInClusters(t, dst, src, rowCount, cols, dstPitch, srcPitch, scale, of)
}

//gpu:kernel maxblock=128 minblocks=8 name=softmax_short_sm90
func shortSoftmax(t gpu.Thread, dst, src, rowCount, cols, dstPitch, srcPitch uint64, scale float32, of rows.Half) {
	rows.SoftmaxOfBundles(t, dst, src, rowCount, cols, dstPitch, srcPitch, scale, of)
}
