package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "examples/02-vecadd/kernels.go:12: index 99999 of 99999 elements",
		"added two vectors of 100000 elements; the last sum is 299997")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
