package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// DCT8x8 transforms the 8×8 blocks of an image, whose width and height must be multiples of 8. A
// block of threads processes two rows of four 8×8 blocks. For each 8×8 block, eight threads
// transform the rows and then the columns.
//
//gpu:kernel block=8x4x2 restrict=out,in
func DCT8x8(t gpu.Thread, out, in []float32, width, height int32) {
	tile := gpu.Shared[[16][33]float32](t)
	tx, ty, tz := int32(t.ThreadX()), 8*int32(t.ThreadY()), 8*int32(t.ThreadZ())
	x, y := 32*int32(t.BlockX())+ty+tx, 16*int32(t.BlockY())+tz
	inside := x < width && y < height
	var v [8]float32
	if inside {
		for j := range int32(8) {
			tile[tz+j][ty+tx] = in[(y+j)*width+x]
		}
	}
	t.Sync()
	row := tile[tz+tx][ty:]
	for j := range v {
		v[j] = row[j]
	}
	v = dct8(v)
	for j := range v {
		row[j] = v[j]
	}
	t.Sync()
	if inside {
		for j := range int32(8) {
			v[j] = tile[tz+j][ty+tx]
		}
		v = dct8(v)
		for j := range int32(8) {
			out[(y+j)*width+x] = v[j]
		}
	}
}

// dct8 transforms eight numbers.
func dct8(v [8]float32) [8]float32 {
	// Cosines of multiples of π/16, divided by 2.
	const c1, c2, c3, c4, c5, c6, c7 = 0.49039264, 0.46193977, 0.41573481, 0.35355339, 0.27778512, 0.19134172, 0.09754516
	s0, s1, s2, s3 := v[0]+v[7], v[1]+v[6], v[2]+v[5], v[3]+v[4]
	d0, d1, d2, d3 := v[0]-v[7], v[1]-v[6], v[2]-v[5], v[3]-v[4]
	p0, p1, m0, m1 := s0+s3, s1+s2, s0-s3, s1-s2
	return [8]float32{
		c4 * (p0 + p1),
		c1*d0 + c3*d1 + c5*d2 + c7*d3,
		c2*m0 + c6*m1,
		c3*d0 - c7*d1 - c1*d2 - c5*d3,
		c4 * (p0 - p1),
		c5*d0 - c1*d1 + c7*d2 + c3*d3,
		c6*m0 - c2*m1,
		c7*d0 - c5*d1 + c3*d2 - c1*d3,
	}
}
