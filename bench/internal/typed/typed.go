// Package typed holds ptx2go's output for the kernel with changing parameters.
package typed

//go:generate go run github.com/purecuda/cuda/ptx/ptx2go step.ptx
