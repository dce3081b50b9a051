// Package typed is what ptx2go makes of the kernel with changing parameters.
package typed

//go:generate go run github.com/purecuda/cuda/ptx/ptx2go step.ptx
