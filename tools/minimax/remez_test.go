package main

import (
	"math"
	"math/big"
	"path/filepath"
	"testing"

	"github.com/purecuda/cuda/internal/exact"
)

// TestExpOfDegree2 checks the error of a parabola for e^x between -1 and 1. The smallest possible
// error is known to be 0.04502.
func TestExpOfDegree2(t *testing.T) {
	f := fit{lo: -1, hi: 1, degree: 2, bits: 53, target: exact.Exp, weight: one}
	g := sample(f)
	for name, solve := range map[string]func(grid, []*big.Float, int, int) []*big.Float{"remez": remez, "lawson": lawson} {
		c := solve(g, g.f, 0, 2)
		worst := 0.0
		for i, x := range g.x {
			a, _ := x.Float64()
			y, _ := g.f[i].Float64()
			c0, _ := c[0].Float64()
			c1, _ := c[1].Float64()
			c2, _ := c[2].Float64()
			worst = max(worst, math.Abs(y-c0-c1*a-c2*a*a))
		}
		if worst < 0.0449 || worst > 0.0452*1.02 {
			t.Errorf("%s: the largest error is %v, want 0.0450", name, worst)
		}
	}
}

// TestFilesAreCurrent generates the files of both packages and compares them with the existing
// ones.
func TestFilesAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 30 s")
	}
	for _, p := range packages {
		if err := write(filepath.Join("..", "..", filepath.FromSlash(p.file)), p, true); err != nil {
			t.Error(err)
		}
	}
}
