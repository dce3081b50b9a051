package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "stream-ordered: two allocations", "trimmed, it keeps 0 KiB", "in a graph: 8 nodes, two of them allocate and two free; 3 replays",
		"memory of graphs, with the output of 3 replays: ")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }
