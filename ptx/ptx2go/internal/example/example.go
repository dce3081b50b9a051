// Package example is what ptx2go makes of the kernels beside it. Its tests
// compile and run the output, and hold it to what is committed.
package example

//go:generate go run github.com/purecuda/cuda/ptx/ptx2go -pkg example *.ptx
