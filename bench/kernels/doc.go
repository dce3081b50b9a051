// Package kernels has the 40 kernels of README.md in Go. The same algorithms in CUDA C++ are in the
// folder cuda. The command kernelbench measures both on a GPU, and this package's tests run both on
// the emulator.
package kernels
