// Package math provides float64 functions for kernels written in Go. They have the same names and
// special cases as Go's package math. The same source runs on the host and on devices and produces
// the same bits: every fused multiply-add is explicit, and no other products are fused.
//
// # Accuracy
//
// The error of a result is at most 1 ulp: its distance from the exact result is at most the
// distance between the two float64 numbers on either side of the exact result. Most results have an
// error of at most 0.6 ulp. Subnormal numbers are preserved. The file docs/results/math.md lists
// the largest error found for each function:
//
//	PURECUDA_MATH_LONG=1 go test -timeout 0 -v ./ptx/gpu/math
//
// The tool tools/minimax generates the polynomials in coefficients.go.
package math
