// Package math provides float64 functions for kernels written in Go. They have the names and
// special cases of Go's package math. The same source runs on the host and on devices, with equal
// bits: every fused multiply-add is explicit, and no other product is fused.
//
// # Accuracy
//
// The error of a result is at most 1 ulp: the distance from the exact result is at most the distance
// between the two float64 numbers around it. Subnormal numbers are kept.
package math
