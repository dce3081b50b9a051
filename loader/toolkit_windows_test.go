//go:build !static

package loader

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestToolkitOfTheEnvironmentGoesFirst(t *testing.T) {
	root, err := os.MkdirTemp("", "toolkit") // t.TempDir cannot delete the files under Wine
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CUDA_PATH", root)
	t.Setenv("CUDA_HOME", "")
	t.Setenv("ProgramFiles", "")
	t.Setenv("CONDA_PREFIX", "")
	t.Setenv("VIRTUAL_ENV", "")
	var want []string
	for _, folder := range []string{`bin\x64`, "bin"} {
		path := filepath.Join(root, folder, "purecudatest64_13.dll")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		want = append(want, path)
	}
	want = append(want, "purecudatest64_13.dll") // the system finds this name in its own folder
	toolkit := Toolkit{Windows: []string{"purecudatest64_13.dll"}}
	if got := toolkit.Names(); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

func TestFileOfAFunctionIsItsLibrary(t *testing.T) {
	l, err := Open("kernel32.dll")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := l.Lookup("GetTickCount")
	if err != nil {
		t.Fatal(err)
	}
	if path := FileOf(p); !filepath.IsAbs(path) {
		t.Errorf("GetTickCount is in %q", path)
	}
	if path := FileOf(FuncProc(func(Args) uintptr { return 0 })); path != "" {
		t.Errorf("a Go function is in %q", path)
	}
}
