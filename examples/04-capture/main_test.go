package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "graph of 20 nodes", "50 replays", "every element is 1000", "two more kernels")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
