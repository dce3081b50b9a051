package main

import (
	"io"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/examples/internal/demotest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestExample(t *testing.T) {
	demotest.Run(t, run, " chunks of ", "one after the other: all ", "pipelined: all ")
}

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }

// A GPU overlaps copies and kernels, so the pipeline must be faster than serial work.
func TestThePipelineIsFaster(t *testing.T) {
	gputest.GPU(t)
	best := func(e *example, work func() error) (took time.Duration) {
		for i := range 3 {
			once, err := e.timed("", work)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 || once < took {
				took = once
			}
		}
		return took
	}
	err := demo.Run("gpu", io.Discard, func(d *demo.Demo) error {
		e, err := prepare(d)
		if err != nil {
			return err
		}
		serial, pipelined := best(e, e.serial), best(e, e.pipelined)
		if pipelined*4 > serial*3 {
			t.Errorf("pipelined the work takes %v, one after the other %v", pipelined, serial)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
