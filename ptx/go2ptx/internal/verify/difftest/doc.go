// Package difftest compares the compiler with Go. It uses random kernels (package randgo) and the
// functions with which the Go team tests its own compiler (package gofuncs). They must produce the
// same bits as plain Go, as PTX on the emulator, and as PTX on a GPU. The package contains only
// tests.
package difftest
