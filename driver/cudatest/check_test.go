package cudatest

import (
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
)

// By default, benchmarks run without checks, because checks make kernels slower.
func TestBenchmarksAreNotChecked(t *testing.T) {
	if c := new(options).check(t); c != emulator.CheckAll {
		t.Errorf("a test is checked with %b", c)
	}
	if c := new(options).check(new(testing.B)); c != 0 {
		t.Errorf("a benchmark is checked with %b", c)
	}
}
