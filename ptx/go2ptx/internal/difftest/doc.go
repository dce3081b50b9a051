// Package difftest compares the compiler with Go: random kernels (package randgo) and the functions
// of the Go team's own tests (package gofuncs) must give the same bits as plain Go, as PTX on the
// emulator, and as PTX on a GPU. It has tests only.
package difftest
