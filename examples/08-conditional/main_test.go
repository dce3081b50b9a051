package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "from 1: 0 steps", "from 27: 111 steps", "from 97: 118 steps", "a choice of three", "down from 1000")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
