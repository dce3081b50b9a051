// Package softmaxsm90 contains the kernels of kernels.Softmax for sm_90 and later.
package softmaxsm90

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module -target sm_90

// The type names that appear in the names of kernels.
type (
	f32_sm90  = float32
	half_sm90 = uint16
)

//gpu:kernel maxblock=512 regs=48
//gpu:instance f32_sm90 half_sm90
func softmax[T rows.Float](t gpu.Thread, dst, src, rowCount, cols, dstPitch, srcPitch uint64, scale float32, of rows.Half) {
	rows.SoftmaxInClusters[T](t, dst, src, rowCount, cols, dstPitch, srcPitch, scale, of)
}

//gpu:kernel maxblock=128 minblocks=8 name=softmax_short
//gpu:instance f32_sm90 half_sm90
func shortSoftmax[T rows.Float](t gpu.Thread, dst, src, rowCount, cols, dstPitch, srcPitch uint64, scale float32, of rows.Half) {
	rows.SoftmaxOfBundles[T](t, dst, src, rowCount, cols, dstPitch, srcPitch, scale, of)
}
