package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Mandelbrot computes, for each pixel of an image, the number of iterations until z leaves the
// circle of radius 2. The first pixel is at (left, top), and step is the distance between pixels. All
// roundings are explicit, so the counts do not depend on the compiler.
//
//gpu:kernel block=32x8 restrict=counts
func Mandelbrot(t gpu.Thread, counts []int32, width, height int32, left, top, step float32, most int32) {
	px, py := int32(t.GlobalX()), int32(t.GlobalY())
	if px >= width || py >= height {
		return
	}
	cx, cy := gpu.FMA(float32(px), step, left), gpu.FMA(float32(py), step, top)
	var x, y, xx, yy float32
	n := int32(0)
	for n < most && xx+yy <= 4 {
		y = gpu.FMA(x+x, y, cy)
		x = xx - yy + cx
		xx, yy = float32(x*x), float32(y*y)
		n++
	}
	counts[py*width+px] = n
}
