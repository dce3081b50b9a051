// Package example contains the output of ptx2go for the kernels in this folder. Its tests
// compile and run the output, and compare it with the committed files.
package example

//go:generate go run github.com/purecuda/cuda/ptx/ptx2go -pkg example *.ptx
