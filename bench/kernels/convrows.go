package kernels

import "github.com/purecuda/cuda/ptx/gpu"

const (
	convRadius = 8
	convSteps  = 8 // number of results that a thread computes
)

var convTaps = gpu.ConstantOf([2*convRadius + 1]float32{
	1. / 81, 2. / 81, 3. / 81, 4. / 81, 5. / 81, 6. / 81, 7. / 81, 8. / 81, 9. / 81,
	8. / 81, 7. / 81, 6. / 81, 5. / 81, 4. / 81, 3. / 81, 2. / 81, 1. / 81,
})

// ConvRows convolves each row of width numbers with convTaps. The numbers beyond the ends of a row
// count as 0. A block computes 128 numbers of each of four rows. It keeps them in shared memory,
// with 16 additional numbers on each side.
//
//gpu:kernel block=16x4 restrict=out,in
func ConvRows(t gpu.Thread, out, in []float32, width int) {
	tile := gpu.Shared[[4][16 * (convSteps + 2)]float32](t)
	near := &tile[t.ThreadY()]
	taps := convTaps.Ptr()
	first, y := t.BlockX()*16*convSteps-16+t.ThreadX(), t.GlobalY()
	var row, to []float32
	if (y+1)*width <= len(in) {
		row, to = in[y*width:][:width], out[y*width:][:width]
	}
	for s := range convSteps + 2 {
		var v float32
		if x := first + 16*s; x >= 0 && x < len(row) {
			v = row[x]
		}
		near[t.ThreadX()+16*s] = v
	}
	t.Sync()
	for s := 1; s <= convSteps; s++ {
		var sum float32
		for d := range taps {
			sum += taps[len(taps)-1-d] * near[t.ThreadX()+16*s+d-convRadius]
		}
		if x := first + 16*s; x < len(to) {
			to[x] = sum
		}
	}
}
