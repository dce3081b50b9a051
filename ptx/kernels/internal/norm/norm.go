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

// norm computes a layer norm if centered is 1, and otherwise an RMS norm.
//
//gpu:kernel maxblock=512 minblocks=2
//gpu:instance f32 half
func norm[T rows.Float](t gpu.Thread, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch uint64, eps float32, of rows.Half, centered uint32) {
	rows.Norm[T](t, dst, src, weight, bias, rowCount, cols, dstPitch, srcPitch, eps, of, centered != 0)
}
