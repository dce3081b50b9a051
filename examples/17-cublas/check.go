package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/purecuda/cuda/driver"

	"github.com/purecuda/cuda/graph"
)

// step runs work on a new input. It compares the results in both precisions with a computation in
// double precision.
func (l *layer) step(how string, work func() error) error {
	input := l.numbers(size.m * size.k)
	if err := l.a.CopyFrom(input); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	if err := l.Stream.Wait(context.Background()); err != nil {
		return err
	}
	want := l.reference(input)
	inSingle, err := furthest(l.c32, want)
	if err != nil {
		return err
	}
	inHalf, err := furthest(l.c16, want)
	if err != nil {
		return err
	}
	if tolerance := 1e-5 * float64(size.k); inSingle > tolerance || inHalf > tolerance {
		return fmt.Errorf("wrong result %s: single precision is off by %g, half by %g", how, inSingle, inHalf)
	}
	l.Printf("computed %s: single precision is off by %.2g at most, half by %.2g", how, inSingle, inHalf)
	return nil
}

// reference returns max(0, A×B + bias).
func (l *layer) reference(a []float32) []float64 {
	want := make([]float64, size.m*size.n)
	for i := range size.m {
		for j := range size.n {
			sum := float64(l.bias[j])
			for k := range size.k {
				sum += float64(a[i*size.k+k]) * float64(l.weights[k*size.n+j])
			}
			want[i*size.n+j] = max(0, sum)
		}
	}
	return want
}

// furthest returns the largest difference between the device's values and want.
func furthest(b *driver.Buffer[float32], want []float64) (worst float64, err error) {
	got := make([]float32, b.Len())
	if err := b.CopyTo(got); err != nil {
		return 0, err
	}
	for i, v := range got {
		worst = max(worst, math.Abs(float64(v)-want[i])) // max propagates NaN
	}
	if math.IsNaN(worst) {
		worst = math.Inf(1)
	}
	return worst, nil
}

// describe prints the number of captured nodes. It checks that they include nodes of cuBLAS in
// addition to the nodes of the program's own operations.
func (l *layer) describe(g *graph.Graph) error {
	n, err := g.Len()
	if err != nil {
		return err
	}
	l.Printf("captured a graph of %d nodes, %d of them cuBLAS's", n, n-len(l.halves)-len(l.ends))
	if n <= len(l.halves)+len(l.ends) {
		return errors.New("the products of cuBLAS are not in the graph")
	}
	return nil
}
