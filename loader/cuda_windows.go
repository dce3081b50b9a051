package loader

import "fmt"

// cudaNames holds the name of the driver's library. Windows searches for a name without a path only
// in System32 (see dlopen).
var cudaNames = []string{"nvcuda.dll"}

// privileged returns false, because Windows has no setuid.
func privileged() bool { return false }

// refuseStub returns an error if l is not a driver. The toolkit's stub for Windows is an import
// library, which cannot be opened.
func refuseStub(l *DynamicLibrary) error {
	if _, err := l.Lookup("cuInit"); err != nil {
		return fmt.Errorf("not a CUDA driver: %w", err)
	}
	return nil
}

// refuseStubFile accepts every file (see refuseStub).
func refuseStubFile(string) error { return nil }
