// Package speed tests the speed of the emulator. Kernels are compared with recorded times, and the
// allocations of a launch must not depend on its length.
package speed
