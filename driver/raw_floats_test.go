//go:build !purecuda_syscall

package driver_test

const rawNoFloats = false
