package main

import (
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, "kernel add takes [c .u64 a .u64 b .u64 n .u32]", "argument 3 (n): it is .u32 (4 bytes), but a float64 has 8 bytes",
		"added two vectors of 100000 elements; the last sum is 299997")
}
