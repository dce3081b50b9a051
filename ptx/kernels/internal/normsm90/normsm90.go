// Package normsm90 contains the kernels of kernels.RMSNorm and kernels.LayerNorm for sm_90 and later.
package normsm90

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

//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32_sm90 half_sm90
func rmsnorm[T rows.Float](t gpu.Thread, dst, src, weight, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.RMSNormInClusters[T](t, dst, src, weight, rowCount, cols, dstPitch, srcPitch, eps, of)
}

//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32_sm90 half_sm90
func layernorm[T rows.Float](t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.LayerNormInClusters[T](t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of)
}

//gpu:kernel maxblock=128 minblocks=8 name=rmsnorm_short
//gpu:instance f32_sm90 half_sm90
func shortRMSNorm[T rows.Float](t gpu.Thread, dst, src, weight, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.RMSNormOfBundles[T](t, dst, src, weight, rowCount, cols, dstPitch, srcPitch, eps, of)
}

//gpu:kernel maxblock=128 minblocks=8 name=layernorm_short
//gpu:instance f32_sm90 half_sm90
func shortLayerNorm[T rows.Float](t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half) {
	rows.LayerNormOfBundles[T](t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of)
}
