package loader

// PathVariable names the environment variable that holds the path of the CUDA
// driver to open instead of searching. It is ignored in a process that runs
// with more rights than its user (setuid).
const PathVariable = "PURECUDA_DRIVER"

// OpenCUDA opens the CUDA driver: the library at path or, if path is empty,
// the one that PathVariable names, or else the first that is found where
// drivers are installed. The toolkit's stub library is refused: by a path before it
// is opened, which would run its constructors; by a name alone only afterwards,
// because where it lies the system finds out by opening it. The error lists every
// name that was tried with the system's reason.
func OpenCUDA(path string) (*DynamicLibrary, error) {
	names := cudaNames
	switch {
	case path != "":
		names = []string{path}
	case SecureEnv(PathVariable) != "":
		names = []string{SecureEnv(PathVariable)}
	}
	return open(names, refuseStubFile, refuseStub)
}
