package features

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/gpu"
)

// Ptxas would compile most of these to rotations if the compiler emitted both shifts as shifts.
func TestRotationsThatAreNone(t *testing.T) {
	each(t, func(d *device) {
		arithmetic(d, "rotations", 12, func(x, out []int64) {
			noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { rotations(t, x, out) }))
		}, func(n int, x, out driver.View[int64]) {
			k := must(RotationsIn(d.c))(d)
			noError(d, k.Do(d.s, k.Grid(n), x, out))
		})
	})
}

// Ptxas could use the position of the first thread for all if the compiler emitted bfe.
func TestFieldsAtPositionsOfThreads(t *testing.T) {
	each(t, func(d *device) {
		for _, c := range []struct {
			equal uint16
			wide  uint64
			n     uint32
		}{{0x24, 0x9e3779b97f4a7c15, 20}, {0xbeef, 0xfedcba9876543210, 0}, {0xffff, 1 << 63, 32}, {0x8001, 0x80000001, 37}, {3, 5, 64}, {0x7ffe, 1<<63 - 1, 63}, {1, 2, 255}} {
			arithmetic(d, "fields", 8, func(x, out []int64) {
				noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { fields(t, x, out, c.equal, c.wide, c.n) }))
			}, func(n int, x, out driver.View[int64]) {
				k := must(FieldsIn(d.c))(d)
				noError(d, k.Do(d.s, k.Grid(n), x, out, c.equal, c.wide, c.n))
			})
		}
	})
}

// Ptxas would lose the first number of a vector if the compiler stored narrow numbers as vectors.
func TestPackedNumbersAreNeededLater(t *testing.T) {
	each(t, func(d *device) {
		arithmetic(d, "packed", 3, func(x, out []int64) {
			noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { packed(t, x, out) }))
		}, func(n int, x, out driver.View[int64]) {
			k := must(PackedIn(d.c))(d)
			noError(d, k.Do(d.s, k.Grid(n), x, out))
		})
	})
}

// In such a loop, ptxas could overwrite the address of the cells while some threads still need it.
func TestCellsOfThreadsInLoops(t *testing.T) {
	each(t, func(d *device) {
		arithmetic(d, "hammered", 2, func(x, out []int64) {
			noError(d, gpu.Run(gpu.D1(1), gpu.D1(64), func(t gpu.Thread) { hammered(t, x, out, 97) }))
		}, func(n int, x, out driver.View[int64]) {
			k := must(HammeredIn(d.c))(d)
			noError(d, k.Do(d.s, k.Grid(n), x, out, 97))
		})
	})
}
