package main

import (
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/nvrtc"
)

func TestFaults(t *testing.T) {
	t.Setenv(nvrtc.CacheVariable, gputest.TempDir(t))
	demotest.Faults(t, run)
}
