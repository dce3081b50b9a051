//go:build !static

package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestSearchPrefersTheSystemsOwnAndTheVersionedName(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		names := linuxNames(arch)
		if names[0] != "libcuda.so.1" {
			t.Errorf("%s: %q is tried first", arch, names[0])
		}
		if last := names[len(names)-1]; last != "libcuda.so" {
			t.Errorf("%s: %q is tried last, want the unversioned name", arch, last)
		}
		if !slices.Contains(names, "/usr/lib/wsl/lib/libcuda.so.1") {
			t.Errorf("%s: WSL's folder is not searched", arch)
		}
		jetson := slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "tegra") })
		if jetson != (arch == "arm64") {
			t.Errorf("%s: Jetson's folder searched: %v", arch, jetson)
		}
	}
}

func TestFailureListsEveryNameWithTheSystemsReason(t *testing.T) {
	_, err := Open("libnosuchthing.so.1", "/nonexistent/libother.so")
	var open *OpenError
	if !errors.As(err, &open) {
		t.Fatalf("error %v is not an *OpenError", err)
	}
	if len(open.Tried) != 2 {
		t.Fatalf("%d attempts, want 2", len(open.Tried))
	}
	for _, want := range []string{"libnosuchthing.so.1", "/nonexistent/libother.so", "No such file"} {
		if s := fmt.Sprintf("%+v", err); !strings.Contains(s, want) {
			t.Errorf("%q does not mention %q", s, want)
		}
	}
	for _, a := range open.Tried {
		if !errors.Is(a.Err, fs.ErrNotExist) {
			t.Errorf("%v does not say that there is no such library", a.Err)
		}
	}
	if s := err.Error(); strings.Contains(s, "libother") || strings.Count(s, "libnosuchthing.so.1") != 1 || !strings.Contains(s, "2 names tried") {
		t.Errorf("the short form is %q", s)
	}
}

// If several names fail, the error must name the library that exists but cannot be used.
func TestFailureInOneLineNamesTheLibraryThatIsThere(t *testing.T) {
	text := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(text, []byte("no library\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open("libnosuchthing.so.1", text)
	if err == nil || !strings.Contains(err.Error(), text+": ") || strings.Contains(err.Error(), "libnosuchthing") {
		t.Errorf("error %v", err)
	}
}

func TestEnvironmentVariableNamesTheDriver(t *testing.T) {
	t.Setenv(PathVariable, "/nonexistent/libcuda.so.1")
	_, err := OpenCUDA("")
	var open *OpenError
	if !errors.As(err, &open) {
		t.Fatalf("error %v is not an *OpenError", err)
	}
	if len(open.Tried) != 1 || open.Tried[0].Name != "/nonexistent/libcuda.so.1" {
		t.Errorf("tried %v, want the variable's path alone", open.Tried)
	}
}

func TestGivenPathGoesBeforeTheEnvironment(t *testing.T) {
	t.Setenv(PathVariable, "/nonexistent/environment.so")
	_, err := OpenCUDA("/nonexistent/given.so")
	if err == nil || !strings.Contains(err.Error(), "given.so") || strings.Contains(err.Error(), "environment.so") {
		t.Errorf("error %v, want the given path alone", err)
	}
}

func TestLibraryThatIsNoDriverIsRefused(t *testing.T) {
	_, err := OpenCUDA("libc.so.6")
	if err == nil || !strings.Contains(err.Error(), "not a CUDA driver") {
		t.Errorf("error %v", err)
	}
}

func TestMappedFileNamesTheLibraryOfAnAddress(t *testing.T) {
	l, err := Open("libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := l.Lookup("getpid")
	if err != nil {
		t.Fatal(err)
	}
	path := mappedFile(p.Addr())
	if !strings.HasPrefix(filepath.Base(path), "libc") {
		t.Errorf("getpid is in %q", path)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if path := mappedFile(1); path != "" {
		t.Errorf("address 1 is in %q", path)
	}
}

func TestFileOfAFunctionIsItsLibrary(t *testing.T) {
	l, err := Open("libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := l.Lookup("getpid")
	if err != nil {
		t.Fatal(err)
	}
	if path := FileOf(p); !filepath.IsAbs(path) || !strings.HasPrefix(filepath.Base(path), "libc") {
		t.Errorf("getpid is in %q", path)
	}
	if path := FileOf(FuncProc(func(Args) uintptr { return 0 })); path != "" {
		t.Errorf("a Go function is in %q", path)
	}
}

func TestOrdinaryProcessIsNotPrivileged(t *testing.T) {
	if privileged() {
		t.Error("a test run counts as setuid")
	}
}

// The system stores the reason for a failure per thread, and goroutines move between threads. Each
// error must still contain the reason for its own failure.
func TestFailuresOnManyGoroutinesHaveTheirReasons(t *testing.T) {
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 200 {
				_, err := Open("libthere-is-none.so.9")
				if err == nil || !strings.Contains(err.Error(), "cannot open shared object file") {
					t.Errorf("got %v", err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}

// Close must return the system's error if a library cannot be unloaded. The test uses the C
// library, which is never unloaded.
func TestCloseReportsWhatTheSystemSays(t *testing.T) {
	l, err := Open("libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	if err := dlclose(l.handle); err != nil {
		t.Fatal(err)
	}
	want := dlclose(l.handle)
	if got := l.Close(); (got == nil) != (want == nil) {
		t.Errorf("Close: %v, the system says %v", got, want)
	}
}
