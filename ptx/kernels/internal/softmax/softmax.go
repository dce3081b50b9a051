// Package softmax contains the kernels of kernels.Softmax.
package softmax

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

//gpu:kernel maxblock=512 regs=48
func softmax(t gpu.Thread, dst, src, rowCount, cols, dstPitch, srcPitch uint64, scale float32, of rows.Half) {
	rows.Softmax(t, dst, src, rowCount, cols, dstPitch, srcPitch, scale, of)
}
