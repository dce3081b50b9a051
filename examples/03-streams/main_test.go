package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "ran in this order", "counted on to", "in one stream and", "given up after 1 ms")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
