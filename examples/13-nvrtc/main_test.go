package main

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

// The output must report a result, or that NVRTC is not installed. The tests in
// internal/checks/nvidiatest run the example with NVRTC.
func TestExample(t *testing.T) {
	t.Setenv(nvrtc.CacheVariable, gputest.TempDir(t))
	c, err := nvrtc.Open()
	if errors.Is(err, nvrtc.ErrNotInstalled) {
		demotest.Run(t, run, "There is nothing to compile with. NVRTC ")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	demotest.Run(t, run,
		"compiling with NVRTC ", "found in the cache in ", "both kernels compute the polynomial",
		`a mistake in the source: nvrtc: cannot compile polynomial.cu:`, `polynomial.cu:14: identifier "j" is undefined (y[j] = v;)`)
}
