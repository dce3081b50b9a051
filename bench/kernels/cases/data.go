package cases

import "math/rand/v2"

// source returns random numbers that depend on a size alone.
func source(n int) *rand.Rand { return rand.New(rand.NewPCG(uint64(n), 1)) }

// floats returns n random numbers between -1 and 1.
func floats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = r.Float32()*2 - 1
	}
	return x
}

// between returns n random numbers from low to high-1.
func between[T ~int32 | ~uint32 | ~uint8 | ~int8](r *rand.Rand, n int, low, high int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(low + r.IntN(high-low))
	}
	return x
}

// rowsOf returns the number of rows of n numbers in a case: 2²⁶/n, or 3 for the short rows used on
// the emulator. The number is odd if n is odd.
func rowsOf(n int) int {
	if n < 1000 {
		return 3
	}
	return 1<<26/n | n&1
}
