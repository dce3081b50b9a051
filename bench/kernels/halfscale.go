package kernels

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// HalfScale sets y to a·x + b. The threads stride over pairs of numbers. If the last number is not
// part of a pair, the first thread computes it.
//
//gpu:kernel block=256 restrict=x,y
func HalfScale(t gpu.Thread, y, x []num.F16, a, b num.F16) {
	pairs := min(len(x), len(y)) / 2
	for i := t.GlobalX(); i < pairs; i += t.GridStrideX() {
		u := *(*[2]num.F16)(x[2*i:])
		*(*[2]num.F16)(y[2*i:]) = [2]num.F16{num.FMA(a, u[0], b), num.FMA(a, u[1], b)}
	}
	if i := 2 * pairs; t.GlobalX() == 0 && i < len(x) {
		y[i] = num.FMA(a, x[i], b)
	}
}
