package main

import (
	"fmt"
	"math"
)

const (
	width     = 32   // length of each vector and number of words in the vocabulary
	tolerance = 2e-4 // absolute error allowed in a logit; logits are around 100
)

// sharpness is the factor for the attention scores: 1/√width, divided by the temperature. The
// factor log₂e allows the softmax to use powers of two.
func sharpness(temperature float32) float32 {
	return float32(math.Log2E / math.Sqrt(width) / float64(temperature))
}

type weights struct{ embedding, q, k, v, out []float32 }

func newWeights() *weights {
	r := random(842) // with this seed the tokens vary
	return &weights{r.matrix(), r.matrix(), r.matrix(), r.matrix(), r.matrix()}
}

// random is the splitmix64 generator. Its numbers are the same on every machine.
type random uint64

func (r *random) matrix() []float32 {
	m := make([]float32, width*width)
	for i := range m {
		*r += 0x9e3779b97f4a7c15
		z := uint64(*r)
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		m[i] = (float32((z^z>>31)>>40)/(1<<24) - 0.5) * 2
	}
	return m
}

// reference computes the model for one sequence on the CPU, in float64. It shares only the
// weights with the kernels.
type reference struct {
	*weights
	temperature float64
	keys        [][]float64
	values      [][]float64
}

// step appends a token to the sequence and returns the logits of the next token.
func (r *reference) step(token uint32) []float64 {
	x := make([]float64, width)
	for i := range x {
		x[i] = float64(r.embedding[int(token)*width+i])
	}
	query := times(r.q, x)
	r.keys = append(r.keys, times(r.k, x))
	r.values = append(r.values, times(r.v, x))
	scores := make([]float64, len(r.keys))
	top := math.Inf(-1)
	for t, key := range r.keys {
		for i := range key {
			scores[t] += query[i] * key[i]
		}
		scores[t] /= math.Sqrt(width) * r.temperature
		top = max(top, scores[t])
	}
	mean, sum := make([]float64, width), 0.0
	for t, v := range r.values {
		weight := math.Exp(scores[t] - top)
		sum += weight
		for i := range v {
			mean[i] += weight * v[i]
		}
	}
	for i := range mean {
		mean[i] /= sum
	}
	return times(r.out, mean)
}

// times multiplies a matrix by a vector.
func times(m []float32, x []float64) []float64 {
	y := make([]float64, width)
	for j := range y {
		for i, v := range x {
			y[j] += float64(m[j*width+i]) * v
		}
	}
	return y
}

// compare checks the logits, and that the chosen token has the largest logit. If two logits
// differ only by rounding, it accepts either token.
func (c *comparison) compare(got []float32, want []float64, next uint32) error {
	if next >= width {
		return fmt.Errorf("token %d is none of %d", next, width)
	}
	for i, w := range want {
		diff := math.Abs(float64(got[i]) - w)
		if !(diff <= tolerance) { // written so that a NaN fails
			return fmt.Errorf("logit %d is %v, the reference says %v", i, got[i], w)
		}
		c.worst = max(c.worst, diff)
		c.compared++
		if w > want[next]+2*tolerance {
			return fmt.Errorf("token %d was chosen, the reference prefers %d", next, i)
		}
	}
	return nil
}
