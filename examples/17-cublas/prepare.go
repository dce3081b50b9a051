package main

import (
	"math/rand/v2"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

var size = shape{m: 70, n: 130, k: 96}

// layer holds the matrices A and B in both precisions, and a result C for each precision.
type layer struct {
	*demo.Demo
	blas           *blas
	random         *rand.Rand
	weights, bias  []float32 // host copies of B and the bias
	a, b, c32, c16 *driver.Buffer[float32]
	halfA, halfB   *driver.Buffer[half]
	halves         []driver.Op // convert A and B to half precision; run before the product
	ends           []driver.Op // add the bias and apply max(0, …); run after each product
}

func newLayer(d *demo.Demo, b *blas) (*layer, error) {
	l := &layer{Demo: d, blas: b, random: rand.New(rand.NewPCG(1, 2))}
	l.weights, l.bias = l.numbers(size.k*size.n), l.numbers(size.n)
	for buffer, n := range map[**driver.Buffer[float32]]int{
		&l.a: size.m * size.k, &l.b: size.k * size.n, &l.c32: size.m * size.n, &l.c16: size.m * size.n,
	} {
		var err error
		if *buffer, err = demo.Memory[float32](d, n, 0); err != nil {
			return nil, err
		}
	}
	for buffer, n := range map[**driver.Buffer[half]]int{&l.halfA: size.m * size.k, &l.halfB: size.k * size.n} {
		var err error
		if *buffer, err = demo.Memory[half](d, n, 0); err != nil {
			return nil, err
		}
	}
	if err := l.b.CopyFrom(l.weights); err != nil {
		return nil, err
	}
	return l, l.prepare()
}

// numbers returns multiples of 1/64, which half precision represents exactly.
func (l *layer) numbers(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(l.random.IntN(129)-64) / 64
	}
	return list
}

// prepare prepares the launches of the program's own kernels.
func (l *layer) prepare() error {
	bias, err := demo.MemoryFrom(l.Demo, l.bias)
	if err != nil {
		return err
	}
	var halve, biasReLU *driver.Kernel
	if err := l.Kernels(ptx, map[string]**driver.Kernel{"halve": &halve, "bias_relu": &biasReLU}); err != nil {
		return err
	}
	for _, p := range []struct {
		dst *driver.Buffer[half]
		src *driver.Buffer[float32]
	}{{l.halfA, l.a}, {l.halfB, l.b}} {
		op, err := halve.Prepare(demo.PerElement(p.src.Len()), p.dst, p.src, uint32(p.src.Len()))
		if err != nil {
			return err
		}
		l.halves = append(l.halves, op)
	}
	for _, c := range []*driver.Buffer[float32]{l.c32, l.c16} {
		op, err := biasReLU.Prepare(demo.PerElement(c.Len()), c, bias, uint32(size.n), uint32(c.Len()))
		if err != nil {
			return err
		}
		l.ends = append(l.ends, op)
	}
	return nil
}
