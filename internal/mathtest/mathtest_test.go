package mathtest

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/purecuda/cuda/internal/exact"
)

func TestULP32(t *testing.T) {
	inf, negZero := float32(math.Inf(1)), float32(math.Copysign(0, -1))
	for _, c := range []struct {
		got  float32
		want float64
		ulp  float64
	}{
		{1, 1, 0}, {1, 1 + 0x1p-24, 0.5}, {math.Nextafter32(1, 2), 1, 1}, {math.Nextafter32(1, 0), 1, 0.5},
		{0x1p-149, 0, math.Inf(1)}, {0x1p-149, 0x1p-150, 0.5}, {0, 0x1p-150, 0}, {0, 0x1.8p-149, 1.5}, {0, math.Copysign(0, -1), math.Inf(1)},
		{negZero, math.Copysign(0, -1), 0}, {inf, math.Inf(1), 0}, {inf, math.Inf(-1), math.Inf(1)}, {inf, 0x1.fffffep127, 1},
		{math.MaxFloat32, 0x1p128, 1}, {inf, 1, 0x1p24}, {float32(math.NaN()), math.NaN(), 0}, {1, math.NaN(), math.Inf(1)},
		{float32(math.NaN()), 1, math.Inf(1)},
	} {
		if ulp := ULP32(c.got, c.want); ulp != c.ulp && !(c.want != 1 && math.Abs(ulp-c.ulp) < 0x1p-20) {
			t.Errorf("ULP32(%x, %x) = %v, want %v", c.got, c.want, ulp, c.ulp)
		}
	}
}

func TestULP64(t *testing.T) {
	for _, c := range []struct {
		got, want, ulp float64
	}{
		{1, 1, 0}, {math.Nextafter(1, 2), 1, 1}, {math.Nextafter(1, 0), 1, 0.5}, {0, 0x1p-1074, 1}, {0, 0, 0},
		{math.Copysign(0, -1), 0, math.Inf(1)}, {math.NaN(), 1, math.Inf(1)}, {0x1p-1060, 0x1p-1060 + 0x1p-1074, 1},
		{math.MaxFloat64, math.Nextafter(math.MaxFloat64, 0), 1},
	} {
		if ulp := ULP64(c.got, exact.New(precision, c.want)); ulp != c.ulp {
			t.Errorf("ULP64(%x, %x) = %v, want %v", c.got, c.want, ulp, c.ulp)
		}
	}
}

func TestFusible(t *testing.T) {
	files := fstest.MapFS{"a.go": {Data: []byte(`package a
func bad(a, b, c float64) float64 { return a*b + c }
func worse(a, b, c float64) float64 { return float64(a*b*c) + c }
func integer(a, b int) int { return a * b }
func good(a, b, c float64) float64 { return float64(a*b) + 2*c + float64(float64(a*b)*c) }
func assigned(a, b, c float64) float64 { a *= b; return a + c }
`)}}
	found, err := Fusible(files, "integer")
	if err != nil || len(found) != 3 {
		t.Errorf("got %v, %v, want the products in bad, worse and assigned", found, err)
	}
}
