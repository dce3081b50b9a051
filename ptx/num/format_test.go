package num_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/ptx/num"
)

// A value must be formatted in the same way as the equal float32.
func formatted[T interface {
	fmt.Formatter
	String() string
	Float32() float32
}](t *testing.T, h T) {
	t.Helper()
	if got, want := h.String(), fmt.Sprint(h.Float32()); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	if got, want := fmt.Sprintf("%v %8.3f %+e %-12g| %s %q %x", h, h, h, h, h, h, h),
		fmt.Sprintf("%v %8.3f %+e %-12g| %s %q %x", h.Float32(), h.Float32(), h.Float32(), h.Float32(), h.String(), h.String(), h.Float32()); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestFormatIsThatOfFloat32(t *testing.T) {
	for i := 0; i < 1<<16; i += 7 {
		formatted(t, num.F16FromBits(uint16(i)))
		formatted(t, num.BF16FromBits(uint16(i)))
		formatted(t, num.E4M3FromBits(uint8(i)))
		formatted(t, num.E5M2FromBits(uint8(i)))
	}
	got := fmt.Sprintf("%#v %#v %#v %#v %d", num.ToF16(1), num.ToBF16(1), num.ToE4M3(1), num.ToE5M2(0), num.ToF16(1))
	want := "num.F16FromBits(0x3c00) num.BF16FromBits(0x3f80) num.E4M3FromBits(0x38) num.E5M2FromBits(0x00) %!d(float32=1)"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func ExampleFMA() {
	half := []num.F16{num.ToF16(1), num.ToF16(2.5)}
	fmt.Println(dot(half, half), dot([]float32{1, 2.5}, []float32{1, 2.5}))
	// Output: 7.25 7.25
}

func dot[T num.Float](x, y []T) T {
	var sum T
	for i := range x {
		sum = num.FMA(x[i], y[i], sum)
	}
	return sum
}

func ExampleTo() {
	fmt.Println(num.To[num.F16](1<<20), num.To[num.E4M3](1000.0), num.To[int8](num.ToF16(-1000)))
	third := num.To[num.BF16](1.0 / 3)
	fmt.Println(third, num.To[num.E5M2](third))
	// Output:
	// +Inf 448 -128
	// 0.33398438 0.3125
}
