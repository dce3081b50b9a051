package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "as it was made: every element is 16", "one node changed: every element is 24",
		"the whole graph updated: every element is 14", "not updated", "instantiated anew: every element is 15")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
