package main

import (
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
)

// One replica and six requests make the same calls as larger numbers would, and keep the test
// short.
func TestFaults(t *testing.T) {
	set(t, &clients, 3)
	set(t, &requests, 6)
	set(t, replicas, 1)
	demotest.Faults(t, run)
}
