package main

import (
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
)

// One worker and a few requests make every call that more of them make.
func TestFaults(t *testing.T) {
	all, both := selfLoad, *workers
	defer func() { selfLoad, *workers = all, both }()
	selfLoad, *workers = load{clients: 3, each: 2}, 1
	demotest.Faults(t, run)
}
