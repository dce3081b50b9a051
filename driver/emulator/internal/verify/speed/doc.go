// Package speed tests the speed of the emulator. Kernels must reach minimum speeds, and the number
// of allocations that a launch makes must not depend on its length.
package speed
