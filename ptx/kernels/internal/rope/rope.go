// Package rope contains the kernel of kernels.Rope.
package rope

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

//gpu:kernel block=256
func rope(t gpu.Thread, dst, src, positions, frequencies, tokens uint64, heads, dim, pairs uint32, dstToken, dstHead, srcToken, srcHead uint64, halves uint32, of rows.Half) {
	rows.Rope(t, dst, src, positions, frequencies, tokens, heads, dim, pairs, dstToken, dstHead, srcToken, srcHead, halves != 0, of)
}
