package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// radius is the radius of Stencil3D's finite differences.
const radius = 4

var stencil = gpu.ConstantOf([radius + 1]float32{0.5, 0.05, 0.02, 0.01, 0.003})

// Stencil3D computes finite differences of a volume of width·height·depth points. In and out have a
// border of radius points around the volume. Each block processes a column of 32×16 points, plane
// by plane. It keeps the current plane in shared memory, and each thread keeps the points of the
// adjacent planes in registers.
//
//gpu:kernel block=32x16 restrict=out,in
func Stencil3D(t gpu.Thread, out, in []float32, width, height, depth int) {
	tile := gpu.Shared[[16 + 2*radius][32 + 2*radius]float32](t)
	c := stencil.Ptr()
	stride := width + 2*radius
	size := stride * (height + 2*radius)
	x, y := t.GlobalX(), t.GlobalY()
	tx, ty := t.ThreadX()+radius, t.ThreadY()+radius
	i := (y+radius)*stride + x + radius // index of the point in each plane
	reads := x < width+radius && y < height+radius
	writes := x < width && y < height

	// The planes from radius-1 before the first plane to radius-1 after it.
	var before, behind [radius]float32
	var current float32
	if reads {
		for d := range radius - 1 {
			before[d] = in[(radius-2-d)*size+i]
		}
		current = in[(radius-1)*size+i]
		for d := range radius {
			behind[d] = in[(radius+d)*size+i]
		}
	}
	for z := radius; z < depth+radius; z++ {
		for d := radius - 1; d > 0; d-- {
			before[d] = before[d-1]
		}
		before[0], current = current, behind[0]
		for d := range radius - 1 {
			behind[d] = behind[d+1]
		}
		if reads {
			behind[radius-1] = in[(z+radius)*size+i]
		}
		plane := in[z*size:][:size]
		t.Sync()
		if t.ThreadY() < radius {
			if reads {
				tile[t.ThreadY()][tx] = plane[i-radius*stride]
			}
			if x < width+radius && y+16 < height+radius {
				tile[ty+16][tx] = plane[i+16*stride]
			}
		}
		if t.ThreadX() < radius {
			if reads {
				tile[ty][t.ThreadX()] = plane[i-radius]
			}
			if x+32 < width+radius && y < height+radius {
				tile[ty][tx+32] = plane[i+32]
			}
		}
		tile[ty][tx] = current
		t.Sync()
		v := c[0] * current
		for d := 1; d <= radius; d++ {
			v += c[d] * (behind[d-1] + before[d-1] + tile[ty-d][tx] + tile[ty+d][tx] + tile[ty][tx-d] + tile[ty][tx+d])
		}
		if writes {
			out[z*size+i] = v
		}
	}
}
