package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// Some kernels have another limit of registers for one type than for others. The emulator estimates how many registers a
// kernel needs, and applies the limit.
func TestLimitsOfRegisters(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{ComputeCapability: [2]int{9, 0}}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		words, halves := alloc[float32](k, 64), alloc[kernels.F16](k, 64)
		w, h := kernels.MatrixOf(words, 4, 16), kernels.MatrixOf(halves, 4, 16)
		for _, c := range []struct {
			name  string
			op    *driver.Launch
			limit int
		}{
			{"transpose of 32 bits", k.made(kernels.Transpose(alloc[float32](k, 64), words, 1, 4, 16)), 64},
			{"transpose of 16 bits", k.made(kernels.Transpose(alloc[kernels.F16](k, 64), halves, 1, 4, 16)), 32},
			{"softmax of 32 bits", k.made(kernels.Softmax(w, w, 1)), 48},
			{"softmax of 16 bits", k.made(kernels.Softmax(h, h, 1)), 56},
		} {
			n, err := c.op.Kernel().Attribute(cu.CU_FUNC_ATTRIBUTE_NUM_REGS)
			k.ok(err)
			if n != c.limit {
				t.Errorf("%s: %d registers, want %d", c.name, n, c.limit)
			}
		}
	})
}
