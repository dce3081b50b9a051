package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "24 tokens", "24 calls, 1 runs of the function, 1 graphs, 0 updates",
		"48 calls, 2 runs of the function, 1 graphs, 1 updates", "60 calls, 3 runs of the function, 2 graphs, 1 updates",
		"2688 logits agree")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }

// The reference must depend on earlier tokens. Otherwise it could not detect an error in
// attention.
func TestReferenceDependsOnEarlierTokens(t *testing.T) {
	a := &reference{weights: newWeights(), temperature: 1}
	b := &reference{weights: a.weights, temperature: 1}
	a.step(1)
	b.step(2)
	far := 0
	x, y := a.step(3), b.step(3)
	for i := range x {
		if d := x[i] - y[i]; d > 10*tolerance || d < -10*tolerance {
			far++
		}
	}
	if far < width/2 {
		t.Errorf("only %d of %d logits depend on the token before", far, width)
	}
}
