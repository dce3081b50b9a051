package math_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/purecuda/cuda/internal/mathtest"
)

// samples returns the number of random arguments for each function.
func samples() int {
	switch {
	case os.Getenv("PURECUDA_MATH_LONG") != "":
		return 1_000_000
	case testing.Short():
		return 500
	}
	return 20_000
}

// TestUnary measures the largest error of each function, compared with reference results that have
// 96 bits of precision.
func TestUnary(t *testing.T) {
	special := mathtest.Special64()
	for _, f := range mathtest.Unary64s {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			var worst, at float64
			for i := range samples() + len(special) {
				x := 0.0
				if i < len(special) {
					x = special[i]
				} else {
					x = mathtest.Draw64(r)
				}
				if e := f.Error(x); e > worst || e != e {
					worst, at = e, x
				}
			}
			t.Logf("%-16s %.3f ulp at %x (%v)", f.Name, worst, at, at)
			if !(worst <= f.Bound) {
				t.Errorf("%s(%x): %v has an error of %.3f ulp, want at most %v", f.Name, at, f.F(at), worst, f.Bound)
			}
		})
	}
}

// TestBinary measures the largest error of each function with two arguments.
func TestBinary(t *testing.T) {
	special := mathtest.Special64()
	for _, f := range mathtest.Binary64s {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			var worst, atX, atY float64
			try := func(x, y float64) {
				if e := f.Error(x, y); e > worst || e != e {
					worst, atX, atY = e, x, y
				}
			}
			for i, x := range special {
				for j, y := range special {
					if !testing.Short() || (i+j)%7 == 0 {
						try(x, y)
					}
				}
			}
			for range samples() {
				try(mathtest.DrawPair64(r))
			}
			t.Logf("%-16s %.3f ulp at %x, %x", f.Name, worst, atX, atY)
			if !(worst <= f.Bound) {
				t.Errorf("%s(%x, %x): %v has an error of %.3f ulp, want at most %v (Std: %v)", f.Name, atX, atY,
					f.F(atX, atY), worst, f.Bound, f.Std(atX, atY))
			}
		})
	}
}
