//go:build static || !(windows || (linux && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)))

package loader

func newCallback(Callback) uintptr { return 0 }
