// Package example holds what ptx2go generates from the kernels beside it. Its tests
// compile and run the output, and compare it with the committed files.
package example

//go:generate go run github.com/purecuda/cuda/ptx/ptx2go -pkg example *.ptx
