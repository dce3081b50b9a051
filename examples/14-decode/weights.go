package main

import "math"

// weights holds the row-major matrices of a model and the factors of its norms.
type weights struct {
	config
	embedding []float32 // size: vocabulary × dim
	blocks    []layer
	norm      []float32 // size: dim
	last      []float32 // size: vocabulary × dim; may be the same slice as embedding
}

// layer holds the weights of one layer: attention, then an MLP. Matrices multiplied by the
// same vector are stacked, so that one kernel computes all their products.
type layer struct {
	attentionNorm []float32 // size: dim
	projections   []float32 // queries, keys and values; size: projected × dim
	output        []float32 // size: dim × dim
	mlpNorm       []float32 // size: dim
	gateUp        []float32 // size: 2·hidden × dim
	down          []float32 // size: dim × hidden
}

// newWeights generates weights from a seed. They are the same on every machine.
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
	w.norm = r.vector(c.dim, 3, 0.1) // factors around 3 spread the logits as in a trained model
	w.last = r.matrix(c.vocabulary, c.dim)
	return w
}

// random is the splitmix64 generator (Steele, Lea, Flood 2014).
type random uint64

// uniform returns a number in [-1, 1).
func (r *random) uniform() float64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64(int64(z^z>>31)>>11) / (1 << 52)
}

// vector returns n elements in [mean-spread, mean+spread).
func (r *random) vector(n int, mean, spread float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(mean + float64(spread*r.uniform())) // the explicit conversion prevents fusing, so the result is equal on all machines
	}
	return v
}

// matrix returns elements of variance 1/columns, so that multiplying a vector by the matrix keeps
// the vector's magnitude.
func (r *random) matrix(rows, columns int) []float32 {
	return r.vector(rows*columns, 0, math.Sqrt(3/float64(columns)))
}
