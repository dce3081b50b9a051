package example

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/num"
)

// The launchers must accept buffers of the library's 16-bit floats, and such floats and
// structs of them by value.
func TestHalvesAreTheLibrarysTypes(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		x := buffer(r, num.ToF16s([]float32{1, -2, 0.5, 1000}))
		line := r.ks.HalfLine
		noError(t, line.Do(r.s, line.Grid(4), x.All(), Affine{A: num.ToF16(2), B: num.ToF16(-0.25)}, 4))
		wants(r, x, num.ToF16s([]float32{1.75, -4.25, 0.75, 2000})...)

		y, wide := buffer(r, num.ToBF16s([]float32{3, -0.125, 1 << 100})), r.floats(0, 0, 0)
		widen := r.ks.Bf16Widen
		noError(t, widen.Do(r.s, widen.Grid(3), y.All(), wide.All(), num.ToBF16(0.5), 3))
		wants(r, wide, 1.5, -0.0625, 1<<99)
	})
}
