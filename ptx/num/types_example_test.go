package num_test

import (
	"fmt"

	"github.com/purecuda/cuda/ptx/num"
)

// An F16 has 11 significant bits, so 2048 + 1 rounds to even.
func ExampleF16() {
	x := num.ToF16(2048)
	fmt.Println(x.Add(num.ToF16(1)), x.Add(num.ToF16(3)))
	fmt.Printf("%#04x\n", num.ToF16(1).Bits())
	// Output:
	// 2048 2052
	// 0x3c00
}

// A BF16 has the range of a float32, but only 8 significant bits.
func ExampleBF16() {
	fmt.Println(num.ToBF16(3e38), num.ToBF16(257))
	// Output: 3.0040553e+38 256
}

// Conversions to an E4M3 limit the value to the largest finite E4M3.
func ExampleE4M3() {
	fmt.Println(num.ToE4M3(1000), num.ToE4M3(0.3))
	// Output: 448 0.3125
}

// An E5M2 has the exponents of an F16, but only 3 significant bits.
func ExampleE5M2() {
	fmt.Println(num.ToE5M2(1000), num.ToE5M2(1e6))
	// Output: 1024 57344
}
