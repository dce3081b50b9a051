package main

import (
	_ "embed"
	"math"
	"math/rand/v2"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

//go:embed kernels.ptx
var ptx []byte

const (
	inputs  = 64 // numbers per request
	hidden  = 128
	outputs = 16 // scores per response
	maxRows = 32 // requests per launch
)

// model is shared by all workers. It has the kernels and the device's weights. A copy of the
// weights in host memory is for checking results.
type model struct {
	dense, lose    *driver.Kernel
	first, second  layer
	onFirst, onSec deviceLayer
}

// layer has weights[in][out] and bias[out].
type layer struct{ weights, bias []float32 }

type deviceLayer struct{ weights, bias *driver.Buffer[float32] }

func newModel(d *demo.Demo) (m *model, err error) {
	random := rand.New(rand.NewPCG(18, 18))
	m = &model{first: newLayer(random, inputs, hidden), second: newLayer(random, hidden, outputs)}
	if err := d.Kernels(ptx, map[string]**driver.Kernel{"dense": &m.dense, "lose": &m.lose}); err != nil {
		return nil, err
	}
	if m.onFirst, err = m.first.upload(d); err != nil {
		return nil, err
	}
	m.onSec, err = m.second.upload(d)
	return m, err
}

func newLayer(random *rand.Rand, in, out int) layer {
	return layer{numbers(random, in*out, float32(math.Sqrt(6/float64(in)))), numbers(random, out, 0.5)}
}

// numbers returns n random values between -bound and bound.
func numbers(random *rand.Rand, n int, bound float32) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = (2*random.Float32() - 1) * bound
	}
	return list
}

func (l layer) upload(d *demo.Demo) (up deviceLayer, err error) {
	if up.weights, err = demo.MemoryFrom(d, l.weights); err != nil {
		return up, err
	}
	up.bias, err = demo.MemoryFrom(d, l.bias)
	return up, err
}

// reference computes the network in double precision. The service's scores must agree with
// it up to rounding.
func (m *model) reference(input []float32) []float64 {
	x := make([]float64, len(input))
	for i, v := range input {
		x[i] = float64(v)
	}
	return softmax(m.second.apply(m.first.apply(x, 0), math.Inf(-1)))
}

func (l layer) apply(x []float64, floor float64) []float64 {
	y := make([]float64, len(l.bias))
	for j := range y {
		sum := float64(l.bias[j])
		for k, v := range x {
			sum += v * float64(l.weights[k*len(y)+j])
		}
		y[j] = max(sum, floor)
	}
	return y
}

func softmax(x []float64) []float64 {
	y, top, sum := make([]float64, len(x)), math.Inf(-1), 0.0
	for _, v := range x {
		top = max(top, v)
	}
	for i, v := range x {
		y[i] = math.Exp(v - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}
