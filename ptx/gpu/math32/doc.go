// Package math32 provides float32 functions for kernels written in Go. They have the names and
// special cases of Go's package math, whose functions have float64 arguments. The same source runs
// on the host and on devices.
//
// # Accuracy
//
// The error of a result is at most 2 ulp: the distance from the exact result is at most twice the
// distance between the two float32 numbers around it. Subnormal numbers are kept.
//
// Some functions use approximate instructions of the hardware, such as ex2.approx. Their results
// on devices and on the host may differ in the last bits. On the host, the functions that stand for
// these instructions round correctly.
package math32
