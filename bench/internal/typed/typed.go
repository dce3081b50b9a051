// Package typed contains ptx2go's output for the kernel whose parameters change.
package typed

//go:generate go run github.com/purecuda/cuda/ptx/ptx2go step.ptx
