// Package speed has the tests of the emulator's speed: how long kernels take against recorded times,
// and that launches allocate the same however long they are.
package speed
