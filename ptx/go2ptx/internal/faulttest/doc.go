// Package faulttest tests the faults and the line numbers of compiled kernels on the emulator and on
// a GPU. It has tests only. They compile the kernels in testdata when they run.
package faulttest
