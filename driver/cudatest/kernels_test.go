package cudatest_test

import (
	"fmt"
	"os"
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

// The test passes for the committed kernels and fails for a copy with a changed constant.
func TestCheckKernels(t *testing.T) {
	cudatest.CheckKernels(t, example)
	dir, err := os.MkdirTemp(filepath.Dir(example), "_stale")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	names, _ := filepath.Glob(filepath.Join(example, "example*"))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "example.go" {
			data = []byte(strings.Replace(string(data), "<= 4", "<= 5", 1))
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{TB: t}
	cudatest.CheckKernels(r, dir)
	if !strings.Contains(r.text, "not up to date") {
		t.Errorf("stale kernels: %q", r.text)
	}
}
