package loader

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var testLibrary = Toolkit{
	Variable: "PURECUDA_TEST_LIBRARY",
	Linux:    []string{"libpurecudatest.so.13", "libpurecudatest.so.12"},
	Windows:  []string{"purecudatest64_130_*.dll"},
}

// touch creates an empty file and its folders.
func touch(t *testing.T, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestToolkitOfTheEnvironmentGoesFirst(t *testing.T) {
	root, conda, venv := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("CUDA_PATH", root)
	t.Setenv("CUDA_HOME", "")
	t.Setenv("CONDA_PREFIX", conda)
	t.Setenv("VIRTUAL_ENV", venv)
	path := touch(t, root, "lib64", "libpurecudatest.so.13")
	inConda := touch(t, conda, "lib", "libpurecudatest.so.13")
	inVenv := touch(t, venv, "lib/python3.12/site-packages/nvidia/purecuda/lib", "libpurecudatest.so.12")
	want := []string{path, "libpurecudatest.so.13", inConda, "libpurecudatest.so.12", inVenv}
	if got := testLibrary.Names(); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// Without VIRTUAL_ENV, libraries from Python packages must be found in three places: the
// environment of the python3 on the PATH, the installation that it links to, and the user's home
// folder.
func TestWheelsOfThePythonOnThePath(t *testing.T) {
	home, base, venv := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", strings.Join([]string{"relative", filepath.Join(venv, "nothing"), filepath.Join(venv, "bin")}, ":"))
	python := touch(t, base, "bin", "python3.12")
	if err := os.Mkdir(filepath.Join(venv, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(python, filepath.Join(venv, "bin", "python3")); err != nil {
		t.Fatal(err)
	}
	const name = "libpurecudatest.so.13"
	want := []string{
		name, // the system searches for this name itself
		touch(t, venv, "lib/python3.12/site-packages/nvidia/cu13/lib", name),
		touch(t, base, "lib/python3.12/site-packages/nvidia/cu13/lib", name),
		touch(t, home, ".local/lib/python3.11/site-packages/nvidia/cu13/lib", name),
		touch(t, home, ".pyenv/versions/3.11.7/lib/python3.11/site-packages/nvidia/cu13/lib", name),
	}
	touch(t, venv, "nothing/../lib64/python3.12/site-packages/nvidia/cu13/lib", name)
	if got := (Toolkit{Linux: []string{name}}).Names(); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

func TestToolkitFolderMustBeAbsolute(t *testing.T) {
	t.Setenv("CUDA_PATH", "lib64/..")
	t.Setenv("CUDA_HOME", "")
	if roots := variableRoots(); len(roots) != 0 {
		t.Errorf("a relative CUDA_PATH gives %q", roots)
	}
}

func TestLaterToolkitsGoFirst(t *testing.T) {
	names := []string{"cuda-9.2", "cuda-13.0", "cuda-12.10", "cuda-12.9"}
	slices.SortFunc(names, laterFirst)
	if want := []string{"cuda-13.0", "cuda-12.10", "cuda-12.9", "cuda-9.2"}; !slices.Equal(names, want) {
		t.Errorf("order %q, want %q", names, want)
	}
}

func TestNamedToolkitLibraryIsTheOnlyOneTried(t *testing.T) {
	t.Setenv(testLibrary.Variable, "/nonexistent/lib.so")
	_, err := OpenToolkit(testLibrary, nil)
	var e *OpenError
	if !errors.As(err, &e) || len(e.Tried) != 1 || e.Tried[0].Name != "/nonexistent/lib.so" {
		t.Errorf("error %v", err)
	}
}

func TestMissingToolkitLibrarySaysEveryNameTried(t *testing.T) {
	_, err := OpenToolkit(testLibrary, nil)
	for _, name := range testLibrary.Linux {
		if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), name) {
			t.Errorf("%v does not mention %s", err, name)
		}
	}
}

func TestRefusedToolkitLibraryIsNotTheEnd(t *testing.T) {
	refused := 0
	lib, err := OpenToolkit(Toolkit{Linux: []string{"libc.so.6", "libm.so.6"}, Windows: nil}, func(l *DynamicLibrary) error {
		if filepath.Base(l.Name()) == "libc.so.6" {
			refused++
			return errors.New("not this one")
		}
		return nil
	})
	if staticBuild {
		if !errors.Is(err, ErrStatic) {
			t.Errorf("error %v, want ErrStatic", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	if filepath.Base(lib.Name()) != "libm.so.6" || refused == 0 {
		t.Errorf("opened %s after %d refusals", lib.Name(), refused)
	}
}
