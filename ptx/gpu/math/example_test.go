package math_test

import (
	"fmt"

	"github.com/purecuda/cuda/ptx/gpu/math"
)

func Example() {
	fmt.Println(math.Exp(1), math.Log(10), math.Sin(1e300))
	// Output: 2.718281828459045 2.302585092994046 -0.8178819121159085
}

// Cospi is exact, whereas the cosine of a rounded multiple of π is not.
func ExampleCospi() {
	fmt.Println(math.Cospi(0.5), math.Cos(math.Pi*0.5))
	// Output: 0 6.123233995736766e-17
}
