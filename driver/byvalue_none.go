//go:build static || !((windows && amd64) || (linux && (amd64 || arm64) && !purecuda_syscall))

package driver

const floatABI = floatsImpossible
