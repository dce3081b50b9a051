package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Stencil2D moves each inner point of a plate towards the mean of its four neighbours. The border
// does not change.
//
//gpu:kernel block=32x8 restrict=next,now
func Stencil2D(t gpu.Thread, next, now []float32, width int, k float32) {
	x, y := t.GlobalX(), t.GlobalY()
	i := y*width + x
	if x >= width || i >= len(now) || i >= len(next) {
		return
	}
	if x == 0 || x == width-1 || i < width || i+width >= len(now) {
		next[i] = now[i]
		return
	}
	around := now[i-1] + now[i+1] + now[i-width] + now[i+width]
	next[i] = now[i] + k*(around-4*now[i])
}
