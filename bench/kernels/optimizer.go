package kernels

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// Adam contains the parameters of AdamW. In step t, Correction1 is 1 - beta1ᵗ and Correction2 is 1
// - beta2ᵗ.
type Adam struct {
	Rate, Beta1, Beta2, Correction1, Correction2, Epsilon, Decay float32
}

// AdamW moves the parameters p against the gradients g, and updates m and v, the moving averages of
// g and of the square of g.
//
//gpu:kernel block=512 restrict=p,m,v,g
func AdamW(t gpu.Thread, p, m, v, g []float32, a Adam) {
	i := t.GlobalX()
	if i >= min(len(p), len(m), len(v), len(g)) {
		return
	}
	grad := g[i]
	mean := lerp(grad, m[i], a.Beta1)
	m[i] = mean
	square := lerp(grad*grad, v[i], a.Beta2)
	v[i] = square
	mean /= a.Correction1
	square /= a.Correction2
	p[i] -= a.Rate * (mean/(math32.Sqrt(square)+a.Epsilon) + a.Decay*p[i])
}

// lerp interpolates between a and b: it returns a if weight is 0, and b if weight is 1.
func lerp(a, b, weight float32) float32 {
	return gpu.FMA(weight, b, gpu.FMA(-weight, a, a))
}
