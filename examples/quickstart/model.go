package main

import "math"

// config is the shape of the stack, set by flags.
type config struct {
	dim    int // length of the vector that passes through the blocks
	hidden int // length of the vectors inside a block
	layers int
	seed   uint64
}

// block holds the row-major weights of one feed-forward block.
type block struct {
	norm []float32 // size: dim
	gate []float32 // size: hidden × dim
	up   []float32 // size: hidden × dim
	down []float32 // size: dim × hidden
}

// scalars holds the parameters that an update changes while the weights stay the same.
type scalars struct {
	epsilon float32
	scale   []float32 // for each block, the factor of its result in the sum
}

// model is a stack of feed-forward blocks, with weights generated from a seed.
type model struct {
	config
	blocks []block
}

func newModel(c config) *model {
	m := &model{config: c, blocks: make([]block, c.layers)}
	r := random(c.seed)
	for i := range m.blocks {
		m.blocks[i] = block{
			norm: r.vector(c.dim, 1, 0.1),
			gate: r.matrix(c.hidden, c.dim),
			up:   r.matrix(c.hidden, c.dim),
			down: r.matrix(c.dim, c.hidden),
		}
	}
	return m
}

// defaults returns the initial scalars of a model. The scale depends on the number of blocks, so
// that the vector grows by about the same factor for any number of blocks.
func (m *model) defaults() scalars {
	s := scalars{epsilon: 1e-5, scale: make([]float32, m.layers)}
	for i := range s.scale {
		s.scale[i] = float32(1 / math.Sqrt(float64(m.layers)))
	}
	return s
}

// input returns the input vector of a step. It differs for every step and is the same on
// every machine.
func (m *model) input(step int) []float32 {
	r := random(m.seed ^ 0x5eed<<32 + uint64(step))
	return r.vector(m.dim, 0, 1)
}

// random is the splitmix64 generator (Steele, Lea, Flood 2014).
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// uniform returns a number in [-1, 1).
func (r *random) uniform() float64 {
	return float64(int64(r.next())>>11) / (1 << 52)
}

// vector returns n elements in [mean-spread, mean+spread).
func (r *random) vector(n int, mean, spread float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(mean + float64(spread*r.uniform())) // the explicit conversion prevents fusing, so the result is equal on all machines
	}
	return v
}

// matrix returns elements of variance 1/cols. Multiplying a vector by the matrix keeps the vector's
// magnitude, through any number of blocks.
func (r *random) matrix(rows, cols int) []float32 {
	return r.vector(rows*cols, 0, math.Sqrt(3/float64(cols)))
}
