package main

import "math"

// forward runs the stack on the CPU in float64, as the reference for the kernels. It shares
// only the weights with them.
func (m *model) forward(input []float32, p scalars) []float64 {
	x := make([]float64, m.dim)
	for i, v := range input {
		x[i] = float64(v)
	}
	for i, b := range m.blocks {
		normed := rmsNorm(x, b.norm, float64(p.epsilon))
		gate := matVec(b.gate, normed)
		up := matVec(b.up, normed)
		for j := range gate {
			gate[j] = gate[j] / (1 + math.Exp(-gate[j])) * up[j]
		}
		for j, v := range matVec(b.down, gate) {
			x[j] += float64(p.scale[i]) * v
		}
	}
	return x
}

func rmsNorm(x []float64, weight []float32, epsilon float64) []float64 {
	var squares float64
	for _, v := range x {
		squares += v * v
	}
	factor := 1 / math.Sqrt(squares/float64(len(x))+epsilon)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v * factor * float64(weight[i])
	}
	return out
}

func matVec(w []float32, x []float64) []float64 {
	out := make([]float64, len(w)/len(x))
	for row := range out {
		var sum float64
		for col, v := range w[row*len(x) : (row+1)*len(x)] {
			sum += float64(v) * x[col]
		}
		out[row] = sum
	}
	return out
}

// difference returns the largest deviation of got from want, relative to the largest
// magnitude in want. A NaN counts as an infinite deviation.
func difference(got []float32, want []float64) float64 {
	var worst, magnitude float64
	for i, w := range want {
		d := math.Abs(float64(got[i]) - w)
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
		magnitude = max(magnitude, math.Abs(w))
	}
	return worst / magnitude
}

// tolerance returns the error allowed for float32: a few units in the last place per block,
// and more for longer sums. A wrong scalar or a missing element causes an error thousands of
// times larger.
func (m *model) tolerance() float64 {
	const ulp = 1.0 / (1 << 23)
	return 4 * ulp * math.Sqrt(float64(m.layers)) * math.Log2(float64(m.dim+m.hidden))
}
