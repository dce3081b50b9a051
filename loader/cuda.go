package loader

// PathVariable names the environment variable that holds the path of the CUDA
// driver to open instead of searching. It is ignored in a process that runs
// with more rights than its user (setuid).
const PathVariable = "PURECUDA_DRIVER"

// OpenCUDA opens the CUDA driver: the library at path, or if path is empty, the one that
// PathVariable names, or else the first one found where drivers are installed.
//
// OpenCUDA rejects the toolkit's stub library. A stub given by path is rejected before it is
// opened, because opening runs its constructors. A stub given by name alone is rejected after it
// is opened, because the system resolves the name only then. The error lists every name that was
// tried with the system's reason.
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
