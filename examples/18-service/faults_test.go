package main

import (
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
)

// One worker and six requests make the same calls as more of them, and keep the test short.
func TestFaults(t *testing.T) {
	all, both := selfLoad, *workers
	defer func() { selfLoad, *workers = all, both }()
	selfLoad, *workers = load{clients: 3, each: 2}, 1
	demotest.Faults(t, run)
}
