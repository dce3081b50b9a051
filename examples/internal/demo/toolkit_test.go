package demo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/loader"
)

var none = loader.Toolkit{
	Variable: "PURECUDA_NO_LIBRARY",
	Linux:    []string{"libpurecudanone.so.2", "libpurecudanone.so.1"},
	Windows:  []string{"purecudanone64_*.dll"},
}

func TestOnlyWhatIsNotThereIsNotInstalled(t *testing.T) {
	const name = "libpurecudanone.so.2"
	missing := loader.Attempt{Name: name, Err: fs.ErrNotExist}
	for _, c := range []struct {
		what  string
		tried []loader.Attempt
		want  bool
	}{
		{"nothing", []loader.Attempt{missing}, true},
		{"a file that cannot be opened", []loader.Attempt{missing, {Name: absolute(name), Err: errors.New("invalid ELF header")}}, false},
		{"a file that lacks another", []loader.Attempt{{Name: absolute(name), Err: fs.ErrNotExist}}, false},
		{"one that is too old", []loader.Attempt{missing, {Name: name, Err: errors.New("version 20800")}}, false},
	} {
		if got := NotInstalled(none, &loader.OpenError{Tried: c.tried}); got != c.want {
			t.Errorf("%s: %v, it should be %v", c.what, got, c.want)
		}
	}
	for _, err := range []error{nil, errors.New("another error")} {
		if NotInstalled(none, err) {
			t.Errorf("%v is taken for a library that is not there", err)
		}
	}
	t.Setenv(none.Variable, "/nonexistent/"+name)
	if NotInstalled(none, &loader.OpenError{Tried: []loader.Attempt{missing}}) {
		t.Error("a library that was asked for is taken for one that is not there")
	}
}

func absolute(name string) string {
	if runtime.GOOS == "windows" {
		return `C:\` + name
	}
	return "/lib/" + name
}

// NotInstalled must recognise the error that this operating system returns.
func TestReasonsOfThisSystem(t *testing.T) {
	_, err := loader.OpenToolkit(none, nil)
	if err == nil {
		t.Fatal("a library that there is not was opened")
	}
	possible := !errors.Is(err, loader.ErrStatic) && !errors.Is(err, loader.ErrUnsupportedPlatform)
	if got := NotInstalled(none, err); got != possible {
		t.Errorf("%v: not installed: %v", err, got)
	}
	if runtime.GOOS != "linux" {
		t.Skip("a broken library needs the names and folders of Linux")
	}
	root := t.TempDir()
	t.Setenv("CUDA_PATH", root)
	broken := filepath.Join(root, "lib64", none.Linux[1])
	if err := errors.Join(os.Mkdir(filepath.Dir(broken), 0o755), os.WriteFile(broken, []byte("no library"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := loader.OpenToolkit(none, nil); err == nil || NotInstalled(none, err) {
		t.Errorf("a file that is no library: %v", err)
	}
}
