package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "11 operations, the longest chain has 4", "is 100 in each of 250 elements",
		"no order between", "(fill), which writes destination", "(scale), which reads from", "bytes 0 to 1000 of the 4000", "with the edge: 0 conflicts")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
