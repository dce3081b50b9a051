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

// norm computes a layer norm if centered is 1, and otherwise an RMS norm.
//
//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32_sm90 half_sm90
func norm[T rows.Float](t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half, centered uint32) {
	rows.NormInClusters[T](t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of, centered != 0)
}

// shortNorm is norm for short rows.
//
//gpu:kernel maxblock=128 minblocks=8 name=norm_short
//gpu:instance f32_sm90 half_sm90
func shortNorm[T rows.Float](t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half, centered uint32) {
	rows.NormOfBundles[T](t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of, centered != 0)
}
