package math32_test

import (
	"fmt"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// A kernel calls these functions in the same way as a Go program calls the functions of package
// math.
func Example() {
	softplus := func(t gpu.Thread, x []float32) {
		if i := t.GlobalX(); i < len(x) {
			x[i] = math32.Log1p(math32.Exp(x[i]))
		}
	}
	x := []float32{-10, -1, 0, 1, 10}
	if err := gpu.Run(gpu.D1(1), gpu.D1(8), func(t gpu.Thread) { softplus(t, x) }); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%.5f\n", x)
	// Output: [0.00005 0.31326 0.69315 1.31326 10.00005]
}

func ExampleSincos() {
	sin, cos := math32.Sincos(1e10)
	fmt.Printf("%.6f %.6f\n", sin, cos)
	// Output: -0.487506 0.873120
}

func ExampleFastExp() {
	fmt.Printf("%.4f\n", math32.FastExp(10)/math32.Exp(10))
	// Output: 1.0000
}
