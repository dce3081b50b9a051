package main

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestFaults(t *testing.T) {
	demotest.Faults(t, run)
}

// The matrices are small because the test multiplies them hundreds of times.
func TestFaultsWithAStandIn(t *testing.T) {
	defer func(s shape) { size = s }(size)
	size = shape{m: 5, n: 7, k: 9}
	demotest.Faults(t, func(d *demo.Demo) error {
		s, err := newStandIn(d)
		if err != nil {
			return err
		}
		return errors.Join(layers(d, s), s.failed)
	})
}
