package math32

import "github.com/purecuda/cuda/ptx/num"

// Sqrt returns the square root of x, rounded correctly.
func Sqrt(x float32) float32 { return num.Sqrt(x) }
