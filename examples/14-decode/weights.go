package main

import "math"

// weights are the matrices of a model, row-major, and the factors of its norms.
type weights struct {
	config
	embedding []float32 // vocabulary × dim
	blocks    []layer
	norm      []float32 // dim
	last      []float32 // vocabulary × dim; it may be the embedding
}

// layer is one block: attention, then an MLP. Matrices that are multiplied by the same
// vector are stacked, so one kernel does it.
type layer struct {
	attentionNorm []float32 // dim
	projections   []float32 // queries, keys, values: projected × dim
	output        []float32 // dim × dim
	mlpNorm       []float32 // dim
	gateUp        []float32 // 2·hidden × dim
	down          []float32 // dim × hidden
}

// newWeights makes weights from a seed, which are the same on every machine.
func newWeights(c config, seed uint64) *weights {
	r := random(seed)
	w := &weights{config: c, embedding: r.vector(c.vocabulary*c.dim, 0, 1)}
	for range c.layers {
		w.blocks = append(w.blocks, layer{
			attentionNorm: r.vector(c.dim, 1, 0.1),
			projections:   r.matrix(c.projected(), c.dim),
			output:        r.matrix(c.dim, c.dim),
			mlpNorm:       r.vector(c.dim, 1, 0.1),
			gateUp:        r.matrix(2*c.hidden, c.dim),
			down:          r.matrix(c.dim, c.hidden),
		})
	}
	w.norm = r.vector(c.dim, 3, 0.1) // so that logits differ as those of a trained model do
	w.last = r.matrix(c.vocabulary, c.dim)
	return w
}

// random is the splitmix64 generator (Steele, Lea, Flood 2014).
type random uint64

// uniform is in [-1, 1).
func (r *random) uniform() float64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64(int64(z^z>>31)>>11) / (1 << 52)
}

// vector has elements in [mean-spread, mean+spread).
func (r *random) vector(n int, mean, spread float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(mean + float64(spread*r.uniform())) // not fused on any machine
	}
	return v
}

// matrix has elements of variance 1/columns, so a product with it keeps a vector's
// magnitude.
func (r *random) matrix(rows, columns int) []float32 {
	return r.vector(rows*columns, 0, math.Sqrt(3/float64(columns)))
}
