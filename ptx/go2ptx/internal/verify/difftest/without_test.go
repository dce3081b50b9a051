package difftest

import (
	"os"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

// Random kernels must also be right if the compiler skips one of its passes. Such kernels reach the
// later passes in forms that the skipped pass would have removed.
//
// By default, a few kernels are compiled without each pass, a different few for each. With
// PURECUDA_RANDOM_KERNELS, all those kernels are compiled without each pass.
func TestRandomKernelsWithoutOnePass(t *testing.T) {
	if err := randgo.Usable(); err != nil {
		t.Skip(err)
	}
	n, seed := wanted(t)
	passes := go2ptx.Passes()
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := newMemory(t, c)
		all := make([]tally, len(passes))
		for first := seed; first < seed+uint64(n); first += perFile {
			kernels := generate(first, min(first+perFile, seed+uint64(n)))
			host := hostResults(t, kernels, first)
			for i, pass := range passes {
				one := build{kernels: kernels, first: first, skip: []string{pass}}
				if os.Getenv(Kernels) == "" {
					one.only = func(k int) bool { return k%len(passes) == i }
				}
				for _, b := range withResults(t, one, host) {
					t.Run(pass, func(t *testing.T) { all[i].run(t, c, m, b) })
				}
			}
		}
		for i, pass := range passes {
			t.Logf("without %-11s %d kernels, %d of them with barriers, shuffles and atomics, %d faults, %d wrong", pass+":", all[i].kernels, all[i].converge, all[i].faults, all[i].wrong)
			if all[i].kernels == 0 {
				t.Errorf("no kernel was compiled without %s", pass)
			}
		}
	})
}
