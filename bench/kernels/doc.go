// Package kernels contains the 40 kernels listed in README.md, written in Go. Folder cuda contains
// the same algorithms in CUDA C++. The command kernelbench measures both on a GPU, and the tests in
// package cases run both on the emulator.
package kernels
