package math32

import (
	"math"
	"testing"
)

// Exp2 must not pass negative numbers to ex2.approx, which is less accurate for them on a GPU. When Exp2
// passed x itself, TestEvery of mathkernels found an error of 2.055 ulp for Exp2(-0x1.402p-04).
func TestExp2PassesNoNegativeArgument(t *testing.T) {
	for b := uint32(0); b < 0x7f800000; b += 97 {
		x := -math.Float32frombits(b)
		r, scale := exp2Parts(x)
		if x < -126 {
			if scale != 0x1p-126 || r != x+126 {
				t.Fatalf("exp2Parts(%x) = %x, %x", x, r, scale)
			}
			continue
		}
		// The argument is rounded only if x is above -1. Its error is then at most 2^-25.
		rest := float64(x) - math.Log2(float64(scale)) - float64(r)
		if r < 0 || r > 1.0001 || math.Abs(rest) > 0x1p-25 || x < -1 && rest != 0 {
			t.Fatalf("exp2Parts(%x) = %x, %x: %g is missing", x, r, scale, rest)
		}
		if r, scale := exp2Parts(-x); r != -x || scale != 1 {
			t.Fatalf("exp2Parts(%x) = %x, %x", -x, r, scale)
		}
	}
}
