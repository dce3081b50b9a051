package main

import (
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "graph of 20 nodes", "50 replays", "every element is 1000", "two more kernels")
}
