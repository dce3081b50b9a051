// Package clock reads a monotonic clock that is fine enough for the times of short kernels, on every
// system.
package clock
