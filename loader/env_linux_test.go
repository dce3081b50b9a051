package loader

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In a setuid process, environment variables must not select libraries, because the user controls
// them.
func TestPrivilegedProcessIsNotLedByItsEnvironment(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{PathVariable, "CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV", "HOME", "PATH", testLibrary.Variable} {
		t.Setenv(name, folder)
	}
	named := func() []string {
		var all []string
		for _, s := range append(append(ToolkitFolders(), variableRoots()...), testLibrary.Override(), SecureEnv("HOME")) {
			if strings.HasPrefix(s, folder) {
				all = append(all, s)
			}
		}
		l, err := OpenCUDA("")
		var e *OpenError
		switch {
		case err == nil:
			if strings.HasPrefix(l.Name(), folder) {
				all = append(all, l.Name())
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		case errors.As(err, &e):
			for _, a := range e.Tried {
				if strings.HasPrefix(a.Name, folder) {
					all = append(all, a.Name)
				}
			}
		}
		return all
	}
	touch(t, folder, "lib", "x") // create CONDA_PREFIX/lib
	if got := named(); len(got) < 5 {
		t.Errorf("an ordinary process is led to %q", got)
	}
	hasRights = func() bool { return true }
	defer func() { hasRights = privileged }()
	if !Privileged() {
		t.Error("the process is not privileged")
	}
	if got := named(); len(got) != 0 {
		t.Errorf("a privileged process is led to %q", got)
	}
}

// Variables that are unset or name a relative folder must not make the loader search the working
// directory.
func TestWorkingDirectoryIsNotSearched(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	const name = "libpurecudatest.so.13"
	for _, folder := range []string{
		".", "lib", "lib64", "lib/python3.12/site-packages/nvidia/cu13/lib", ".local/lib/python3.12/site-packages/nvidia/cu13/lib",
		"local/lib/python3.12/dist-packages/nvidia/cu13/lib",
	} {
		touch(t, here, folder, name)
	}
	touch(t, here, "bin", "python3")
	for _, value := range []string{"", ".", "lib/.."} {
		for _, variable := range []string{"CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV", "HOME"} {
			t.Setenv(variable, value)
		}
		t.Setenv("PATH", filepath.Join(value, "bin"))
		for _, n := range testLibrary.Names() {
			if n != filepath.Base(n) && !filepath.IsAbs(n) || strings.HasPrefix(n, here) {
				t.Errorf("with %q, %s is tried", value, n)
			}
		}
		for _, folder := range ToolkitFolders() {
			if !filepath.IsAbs(folder) || strings.HasPrefix(folder, here) {
				t.Errorf("with %q, %s is searched", value, folder)
			}
		}
	}
}

func TestStubIsRefusedByItsFile(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, data []byte) string {
		path := touch(t, folder, name)
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stub := write("libcuda.so", buildELF("libcuda.so.1", nil))
	link := filepath.Join(folder, "libcuda.so.1")
	if err := os.Symlink(stub, link); err != nil {
		t.Fatal(err)
	}
	inStubs := write("stubs/libcuda.so", nil)
	for _, path := range []string{stub, link, inStubs} {
		if err := refuseStubFile(path); !errors.Is(err, ErrStubLibrary) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := OpenCUDA(path); !errors.Is(err, ErrStubLibrary) {
			t.Errorf("%s was opened: %v", path, err)
		}
		t.Setenv(PathVariable, path)
		if _, err := OpenCUDA(""); !errors.Is(err, ErrStubLibrary) {
			t.Errorf("%s in %s was opened: %v", path, PathVariable, err)
		}
	}
	for _, path := range []string{
		write("driver.so", buildELF("libcuda.so.1", []string{"libc.so.6"})), write("another.so", buildELF("libother.so.1", nil)),
		write("text", []byte("no library")), filepath.Join(folder, "nothing"), "libcuda.so.1",
	} {
		if err := refuseStubFile(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
