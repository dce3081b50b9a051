//go:build linux && (amd64 || arm64) && !static && !purecuda_syscall

package driver

const floatABI = floatsInRegisters
