package loader

// PathVariable names the environment variable that holds the path of the CUDA driver. If it is set,
// no search takes place. It is ignored in a process with more rights than its user (setuid).
const PathVariable = "PURECUDA_DRIVER"

// OpenCUDA opens the CUDA driver. It uses the library at path. If path is empty, it uses the
// library that PathVariable names, or else the first one found where drivers are installed.
//
// OpenCUDA rejects the toolkit's stub library. If the path of a stub is given, OpenCUDA rejects the
// stub before it opens it, because opening runs its constructors. If only a name is given, it
// rejects the stub after opening, because the system resolves the name only then. The error lists
// every name that was tried and the system's reason.
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
