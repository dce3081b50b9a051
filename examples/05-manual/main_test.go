package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "(left) runs after node 0 (fill)", "(right) runs after node 0 (fill)",
		"(join) runs after node 1 (left)", "(join) runs after node 2 (right)", "is 14 in each of 1000 elements")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
