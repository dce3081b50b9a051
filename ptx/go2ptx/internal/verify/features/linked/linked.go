// Package linked contains kernels that call functions defined in another PTX file.
package linked

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

var (
	mix = gpu.Extern("mix.ptx", "mix32", func(a, b uint32) uint32 { return bits.RotateLeft32(a, 5) ^ b })

	// addTo adds x to *p and reports whether the sum exceeds 100.
	addTo = gpu.Extern("mix.ptx", "add_to", func(p *float64, x int8) bool {
		*p += float64(x)
		return *p > 100
	})

	// nothing has no Go implementation, so it only runs on a device.
	nothing = gpu.Extern[func()]("mix.ptx", "nothing", nil)
)

// scramble mixes the bits of the elements of x, and counts the sums over 100 in above.
//
//gpu:kernel block=64
func scramble(t gpu.Thread, x []uint32, sums []float64, above []int32, call bool) {
	i := t.GlobalX()
	if i >= len(x) {
		return
	}
	x[i] = mix(x[i], mix(uint32(i), 7))
	if addTo(&sums[i], int8(i-32)) {
		above[i]++
	}
	if call {
		nothing()
	}
}
