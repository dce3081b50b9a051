// Package speed has the tests of the emulator's speed: kernels against recorded times, and launches
// that must allocate the same however long they are.
package speed
