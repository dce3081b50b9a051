package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "the copy of the first result is here", "2 branches after the first kernel", "up to 800")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
