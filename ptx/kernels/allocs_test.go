//go:build !purecuda_syscall && (amd64 || arm64)

package kernels_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// An emulated launch allocates what it needs to run, so where there is no GPU
// launches do nothing. With the tag purecuda_syscall argument blocks go to the
// heap.
func TestSendingAnOperationAllocatesNothing(t *testing.T) {
	test := func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		op := k.made(kernels.Fill(alloc[float32](k, 100), float32(1)))
		n := testing.AllocsPerRun(100, func() { k.ok(k.s.Do(op)) })
		k.ok(k.s.Wait(t.Context()))
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
	t.Run("gpu", func(t *testing.T) { gputest.OnGPU(t, test) })
	t.Run("silent", func(t *testing.T) { test(t, gputest.Silent(t, driver.FnCuLaunchKernel)) })
}
