// Package math32 provides float32 functions for kernels written in Go. They have the names and
// special cases of Go's package math, whose functions have float64 arguments. The same source runs
// on the host and on devices.
//
// # Accuracy
//
// The error of a result is at most 2 ulp: its distance from the exact result is at most twice the
// distance between the two float32 numbers on either side of the exact result. Subnormal numbers are
// preserved. The file docs/results/math.md lists the largest error found for each function:
//
//	PURECUDA_MATH_STRIDE=307 go test -timeout 0 -v ./ptx/gpu/math32
//
// With PURECUDA_MATH_LONG=1 instead, the command tests the functions of one argument with every
// float32. The tool tools/minimax generates the polynomials in coefficients.go.
//
// Some functions use approximate instructions of the hardware, such as ex2.approx. Their results on
// devices and on the host may differ in the last bits. On the host, the functions that replace these
// instructions round correctly.
//
// Functions whose names begin with Fast consist of one or a few such instructions. Their documentation
// states the errors, which may be much larger than 2 ulp.
package math32
