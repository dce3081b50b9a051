package driver

import (
	"math"
	"slices"
	"time"

	"github.com/purecuda/cuda/driver/cu"
)

// WithJITTime stores how long the driver's compiler and linker took, whether or not they succeed.
// For a Library it only covers what was compiled by the load.
func WithJITTime(t *time.Duration) JITOption {
	return func(j *jit) {
		j.set(cu.CU_JIT_WALL_TIME, 0)
		j.done = append(j.done, func() {
			*t = milliseconds(uint32(j.values[slices.Index(j.options, cu.CU_JIT_WALL_TIME)]))
		})
	}
}

// milliseconds converts the bits of a float.
func milliseconds(bits uint32) time.Duration {
	return time.Duration(float64(math.Float32frombits(bits)) * float64(time.Millisecond))
}

// drop removes an option that was set before.
func (j *jit) drop(o cu.CUjit_option) {
	for i := slices.Index(j.options, o); i >= 0; i = slices.Index(j.options, o) {
		j.options, j.values = slices.Delete(j.options, i, i+1), slices.Delete(j.values, i, i+1)
	}
}
