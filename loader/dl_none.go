//go:build static || !(windows || (linux && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)))

package loader

// dlopen returns the reason why nothing can be opened.
func dlopen(string) (uintptr, error) {
	if staticBuild {
		return 0, ErrStatic
	}
	return 0, ErrUnsupportedPlatform
}

func dlsym(uintptr, string) (uintptr, error) { return 0, ErrSymbolNotFound }

func dlclose(uintptr) error { return nil }
