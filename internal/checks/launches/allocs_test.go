//go:build !purecuda_syscall && (amd64 || arm64)

package launches_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/checks/launches"
	"github.com/purecuda/cuda/internal/gputest"
)

// Launchers must not allocate. The test excludes the build tag purecuda_syscall, with which
// argument blocks escape to the heap.
func TestNoLauncherAllocates(t *testing.T) {
	test := func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		r.each(func(_ launches.Launch, k *driver.Kernel, do launches.Do) {
			if n := gputest.Allocs(0, 100, func() { r.ok(do(r.s)) }); n != 0 && !raceDetector {
				t.Errorf("%v: %v allocations", k, n)
			}
			r.wait()
		})
	}
	t.Run("gpu", func(t *testing.T) { gputest.OnGPU(t, test) })
	// The silent driver does not allocate, so the count contains only the launcher's allocations.
	t.Run("silent", func(t *testing.T) { test(t, gputest.Silent(t, cu.FnCuLaunchKernel)) })
}
