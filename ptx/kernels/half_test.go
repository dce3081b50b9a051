package kernels_test

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
)

func TestEveryF16IsAFloat32AndBack(t *testing.T) {
	for i := range 1 << 16 {
		h := kernels.F16(i)
		f := h.Float32()
		if f != f {
			continue
		}
		if got := kernels.ToF16(f); got != h {
			t.Fatalf("%#x is %v, which is %#x", i, f, got)
		}
		if b := kernels.BF16(i); b.Float32() == b.Float32() && kernels.ToBF16(b.Float32()) != b {
			t.Fatalf("%#x as a BF16", i)
		}
	}
}

// Between two neighbours the middle goes to the even one, and what is a little
// off it to the nearer.
func TestRoundingTo16Bits(t *testing.T) {
	for i := range 0x7bff {
		lo, hi := kernels.F16(i), kernels.F16(i+1)
		rounds(t, lo, hi, lo.Float32(), hi.Float32(), kernels.ToF16)
	}
	for i := range 0x7f7f {
		lo, hi := kernels.BF16(i), kernels.BF16(i+1)
		rounds(t, lo, hi, lo.Float32(), hi.Float32(), kernels.ToBF16)
	}
	if kernels.ToF16(65519) != 0x7bff || kernels.ToF16(65520) != 0x7c00 || kernels.ToF16(-1e30) != 0xfc00 {
		t.Error("F16 does not overflow where it should")
	}
	if f := kernels.ToF16(float32(math.NaN())).Float32(); f == f {
		t.Errorf("NaN became %v", f)
	}
	if f := kernels.ToBF16(float32(math.NaN())).Float32(); f == f {
		t.Errorf("NaN became %v", f)
	}
}

func rounds[T ~uint16](t *testing.T, lo, hi T, flo, fhi float32, round func(float32) T) {
	t.Helper()
	middle := float32((float64(flo) + float64(fhi)) / 2)
	even := lo
	if lo%2 == 1 {
		even = hi
	}
	if got := round(middle); got != even {
		t.Fatalf("%v became %#x, want %#x", middle, got, even)
	}
	if got := round(math.Nextafter32(middle, flo)); got != lo {
		t.Fatalf("below %v became %#x, want %#x", middle, got, lo)
	}
	if got := round(math.Nextafter32(middle, fhi)); got != hi {
		t.Fatalf("above %v became %#x, want %#x", middle, got, hi)
	}
}
