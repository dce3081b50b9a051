package math32_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// Mod must be correct if x is near a multiple of y, where its approximate quotient is most likely
// to be wrong by 1.
func TestModNearMultiples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	samples := 3_000_000
	if testing.Short() {
		samples = 300_000
	}
	for range samples {
		y := math.Float32frombits(r.Uint32() &^ (1 << 31))
		n := uint32(1) << r.IntN(22)
		n += r.Uint32N(n)
		x := float32(float64(y) * float64(n))
		if y-y != 0 || x-x != 0 {
			continue
		}
		x = math.Float32frombits(math.Float32bits(x) + r.Uint32N(5) - 2)
		if r.IntN(2) == 0 {
			x = -x
		}
		got, want := math32.Mod(x, y), float32(math.Mod(float64(x), float64(y)))
		if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
			t.Fatalf("Mod(%x, %x) = %x, want %x", x, y, got, want)
		}
	}
}
