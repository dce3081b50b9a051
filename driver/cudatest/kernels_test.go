package cudatest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
)

const example = "../../ptx/go2ptx/internal/example"

// recorder is a test that records errors.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }

// Committed kernels are up to date. Kernels of another module are up to date after go generate, but no
// longer after a constant changes. The other module is not in this repository, because commands that run
// at the same time look for stale kernels there.
func TestCheckKernels(t *testing.T) {
	cudatest.CheckKernels(t, example)
	library, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	module := strings.Replace(read(filepath.Join(library, "go.mod")), "module github.com/purecuda/cuda", "module example.org/stale", 1)
	write("go.mod", module+fmt.Sprintf("\nrequire github.com/purecuda/cuda v0.0.0\n\nreplace github.com/purecuda/cuda => %q\n", library))
	write("go.sum", read(filepath.Join(library, "go.sum")))
	source := read(filepath.Join(example, "example.go"))
	write("example.go", source)
	// PTX contains the path of its package, so the copy needs its own.
	generate := exec.Command("go", "generate")
	generate.Dir = dir
	generate.Env = append(os.Environ(), "GOOS=", "GOARCH=") // it must run on this platform
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cudatest.CheckKernels(t, dir)
	write("example.go", strings.Replace(source, "<= 4", "<= 5", 1))
	r := &recorder{TB: t}
	cudatest.CheckKernels(r, dir)
	if !strings.Contains(r.text, "not up to date") {
		t.Errorf("stale kernels: %q", r.text)
	}
}
