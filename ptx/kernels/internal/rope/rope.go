// Package rope contains the kernels of kernels.Rope.
package rope

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The names of types in the names of kernels.
type (
	f32  = float32
	half = uint16
)

//gpu:kernel block=256
//gpu:instance f32 half
func rope[T rows.Float](t gpu.Thread, dst, src, positions, frequencies, tokens uint64, heads, dim, pairs uint32, dstToken, dstHead, srcToken, srcHead uint64, halves uint32, of rows.Half) {
	rows.Rope[T](t, dst, src, positions, frequencies, tokens, heads, dim, pairs, dstToken, dstHead, srcToken, srcHead, halves != 0, of)
}
