package loader

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cudaNames lists the names of the driver in the order in which they are tried.
var cudaNames = linuxNames(runtime.GOARCH)

// linuxNames returns the names to try. The system searches for names without a path. The
// unversioned libcuda.so comes last, because it can be the toolkit's stub, and on WSL it fails.
func linuxNames(goarch string) []string {
	names := []string{
		"libcuda.so.1",
		"/usr/lib/wsl/lib/libcuda.so.1", // WSL 2: the Windows driver's library
	}
	if goarch == "arm64" { // Jetson: L4T up to JetPack 5, then JetPack 6
		names = append(names,
			"/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",
			"/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1")
	}
	return append(names,
		"/run/opengl-driver/lib/libcuda.so.1",  // NixOS
		"/usr/local/nvidia/lib64/libcuda.so.1", // mounted by container runtimes
		"/usr/local/nvidia/lib/libcuda.so.1",
		"libcuda.so",
	)
}

// atSecure is AT_SECURE of the auxiliary vector (getauxval(3)).
const atSecure = 23

// privileged reports whether the process has more rights than its user.
func privileged() bool {
	auxv, err := unix.Auxv()
	if err == nil {
		for _, pair := range auxv {
			if pair[0] == atSecure {
				return pair[1] != 0
			}
		}
	}
	return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid()
}

// refuseStub returns an error if l has no cuInit or is the toolkit's stub library, whatever the
// name under which the system found it.
func refuseStub(l *DynamicLibrary) error {
	p, err := l.Lookup("cuInit")
	if err != nil {
		return fmt.Errorf("not a CUDA driver: %w", err)
	}
	path := mappedFile(p.Addr())
	if isStub(path) {
		return fmt.Errorf("%s is %w; install NVIDIA's driver, or remove the stubs folder from LD_LIBRARY_PATH", path, ErrStubLibrary)
	}
	return nil
}

// refuseStubFile returns an error if name is the path of the toolkit's stub. It accepts a name
// without a path, because only the system can resolve it.
func refuseStubFile(name string) error {
	if !strings.ContainsRune(name, '/') {
		return nil
	}
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil // the attempt to open the file returns a more specific error
	}
	if isStub(path) {
		return fmt.Errorf("%s is %w; install NVIDIA's driver, or remove the stubs folder from LD_LIBRARY_PATH and PURECUDA_DRIVER", path, ErrStubLibrary)
	}
	return nil
}

// isStub reports whether a file is the toolkit's stub. A stub is in a folder named stubs, or it has
// the driver's soname and needs no other library. Every driver needs at least the C library to talk
// to the kernel. Drivers 470, 525 and 535 need five libraries. The stub of toolkit 11.8 needs none.
func isStub(path string) bool {
	if filepath.Base(filepath.Dir(path)) == "stubs" {
		return true
	}
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.DynString(elf.DT_SONAME)
	if err != nil || !slices.Contains(names, "libcuda.so.1") {
		return false
	}
	needed, err := f.ImportedLibraries()
	return err == nil && len(needed) == 0
}

// mappedFile returns the path of the file that is mapped at addr, or "" (see proc_pid_maps(5)).
func mappedFile(addr uintptr) string {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 {
			continue
		}
		low, high, _ := strings.Cut(fields[0], "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 == nil && err2 == nil && from <= uint64(addr) && uint64(addr) < to {
			return strings.Join(fields[5:], " ")
		}
	}
	return ""
}
