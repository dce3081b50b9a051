package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// gauss contains the weights for distances from -5 to 5.
var gauss = [11]float32{0.2096114, 0.3678794, 0.5697828, 0.7788008, 0.9394131, 1, 0.9394131, 0.7788008, 0.5697828, 0.3678794, 0.2096114}

// Bilateral smooths an image but preserves its edges. The weight of a neighbouring pixel decreases
// with its distance, and with slope times the square of the difference in value.
//
//gpu:kernel block=32x8 restrict=out,in
func Bilateral(t gpu.Thread, out, in []float32, width, height int32, slope float32) {
	x, y := int32(t.GlobalX()), int32(t.GlobalY())
	if x >= width || y >= height {
		return
	}
	center := in[y*width+x]
	var sum, total float32
	for dy := int32(-5); dy <= 5; dy++ {
		row := in[min(max(y+dy, 0), height-1)*width:][:width]
		for dx := int32(-5); dx <= 5; dx++ {
			v := row[min(max(x+dx, 0), width-1)]
			difference := v - center
			weight := gauss[dy+5] * gauss[dx+5] * gpu.ApproxExp(-slope*difference*difference)
			sum += weight * v
			total += weight
		}
	}
	out[y*width+x] = sum / total
}
