package loader

// PathVariable names the environment variable that holds the path of the CUDA driver. If it is set,
// no search takes place. It is ignored in a process with more rights than its user (setuid).
const PathVariable = "PURECUDA_DRIVER"

// OpenCUDA opens the CUDA driver. It uses the library at path. If path is empty, it uses the
// library that PathVariable names, or else the first one found where drivers are installed.
//
// OpenCUDA rejects the toolkit's stub library. If it knows the stub's path, it rejects the stub
// without opening it, because opening runs the library's constructors. If it knows only a name, it
// must open the library first, because only the system can resolve the name. The error lists every
// name that was tried, with the system's reason.
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
