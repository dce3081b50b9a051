// Package faulttest tests faults and line numbers in compiled kernels, on the emulator and on a
// GPU. It contains only tests, which compile the kernels in testdata.
package faulttest
