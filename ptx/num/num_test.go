package num_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx/num"
)

func TestEveryF16IsAFloat32AndBack(t *testing.T) {
	for i := range 1 << 16 {
		h := num.F16FromBits(uint16(i))
		f := h.Float32()
		if f != f {
			continue
		}
		if got := num.ToF16(f); got != h {
			t.Fatalf("%#x is %v, which is %#x", i, f, got.Bits())
		}
		if b := num.BF16FromBits(uint16(i)); b.Float32() == b.Float32() && num.ToBF16(b.Float32()) != b {
			t.Fatalf("%#x as a BF16", i)
		}
	}
}

// A number halfway between two neighbours must round to the even one. A number slightly off the
// midpoint must round to the nearer neighbour.
func TestRoundingTo16Bits(t *testing.T) {
	for i := range 0x7bff {
		lo, hi := num.F16FromBits(uint16(i)), num.F16FromBits(uint16(i+1))
		rounds(t, lo, hi, lo.Float32(), hi.Float32(), num.ToF16)
	}
	for i := range 0x7f7f {
		lo, hi := num.BF16FromBits(uint16(i)), num.BF16FromBits(uint16(i+1))
		rounds(t, lo, hi, lo.Float32(), hi.Float32(), num.ToBF16)
	}
	if num.ToF16(65519).Bits() != 0x7bff || num.ToF16(65520).Bits() != 0x7c00 || num.ToF16(-1e30).Bits() != 0xfc00 {
		t.Error("F16 does not overflow where it should")
	}
	if f := num.ToF16(float32(math.NaN())).Float32(); f == f {
		t.Errorf("NaN became %v", f)
	}
	if f := num.ToBF16(float32(math.NaN())).Float32(); f == f {
		t.Errorf("NaN became %v", f)
	}
}

func rounds[T interface {
	comparable
	Bits() uint16
}](t *testing.T, lo, hi T, flo, fhi float32, round func(float32) T) {
	t.Helper()
	middle := float32((float64(flo) + float64(fhi)) / 2)
	even := lo
	if lo.Bits()%2 == 1 {
		even = hi
	}
	if got := round(middle); got != even {
		t.Fatalf("%v became %#x, want %#x", middle, got.Bits(), even.Bits())
	}
	if got := round(math.Nextafter32(middle, flo)); got != lo {
		t.Fatalf("below %v became %#x, want %#x", middle, got.Bits(), lo.Bits())
	}
	if got := round(math.Nextafter32(middle, fhi)); got != hi {
		t.Fatalf("above %v became %#x, want %#x", middle, got.Bits(), hi.Bits())
	}
}

func TestSlicesAreConvertedElementByElement(t *testing.T) {
	values := []float32{1, -0.5, 65504, 0x1p-24}
	if got := num.Float32s(num.ToF16s(values)); !slices.Equal(got, values) {
		t.Errorf("F16: %v", got)
	}
	values[2] = 1 << 100
	if got := num.Float32s(num.ToBF16s(values)); !slices.Equal(got, values) {
		t.Errorf("BF16: %v", got)
	}
	if got := num.ToF16s(nil); len(got) != 0 {
		t.Errorf("nothing gives %v", got)
	}
}

func Example() {
	third := num.ToF16(1. / 3)
	fmt.Println(third, num.ToBF16(1./3))
	fmt.Printf("%#04x\n", third.Bits())
	fmt.Println(num.Float32s(num.ToF16s([]float32{1, 2.0005, 70000})))
	// Output:
	// 0.33325195 0.33398438
	// 0x3555
	// [1 2 +Inf]
}
