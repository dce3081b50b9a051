package main

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
)

func TestAffine(t *testing.T) {
	ctx := cudatest.Device(t) // *driver.Context, closed when the test ends
	x := []float32{1, 2, 3}
	before := cudatest.CountsOf(ctx.Driver())
	if err := Affine(ctx, x, 2, 1); err != nil {
		t.Fatal(err)
	}
	if want := []float32{3, 5, 7}; !slices.Equal(x, want) {
		t.Errorf("computed %v, want %v", x, want)
	}
	if n := cudatest.CountsOf(ctx.Driver()).Since(before); n.Launches != 1 || n.Copies() != 2 {
		t.Errorf("got %v, want 1 launch and 2 copies", n)
	}
}
