package example

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/purecuda/cuda/internal/gputest"

	"github.com/purecuda/cuda/ptx/ptx2go/internal/gen"
)

// The files are embedded, so that the test runs without the source tree.
//
//go:embed *.ptx *.cu *_ptx.go
var committed embed.FS

func TestOutputIsWhatIsCommitted(t *testing.T) {
	dir := gputest.TempDir(t)
	for _, pattern := range []string{"*.ptx", "*.cu"} {
		for _, name := range must(fs.Glob(committed, pattern))(t) {
			text := must(committed.ReadFile(name))(t)
			noError(t, os.WriteFile(filepath.Join(dir, name), text, 0o666))
		}
	}
	inputs := must(filepath.Glob(filepath.Join(dir, "*.ptx")))(t)
	files := must(gen.Generate(gen.Options{Package: "example", Dir: dir, Set: "Kernels", Forms: gen.Forms{Grid: true, Do: true, Prepare: true}}, inputs))(t)
	outputs := must(fs.Glob(committed, "*_ptx.go"))(t)
	if len(files) != len(outputs) {
		t.Errorf("%d files are generated, %d are committed", len(files), len(outputs))
	}
	for _, f := range files {
		name := filepath.Base(f.Path)
		if want := must(committed.ReadFile(name))(t); string(want) != string(f.Data) {
			t.Errorf("%s is not up to date: run go generate", name)
		}
	}
}
