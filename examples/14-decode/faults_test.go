package main

import (
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestFaults(t *testing.T) {
	o := options{seed: 1, prompt: []int32{1, 2}, checked: -1, temperature: 0.8, tokens: 2}
	o.shape = config{vocabulary: 5, dim: 4, layers: 1, heads: 1, pairs: 1, hidden: 4, base: 10000, epsilon: 1e-5}
	demotest.SomeFaults(t, 40, o.run)
}
