// Package clock reads a monotonic clock that is precise enough to time short kernels on every
// operating system.
package clock
