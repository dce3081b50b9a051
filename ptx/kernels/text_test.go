package kernels_test

import (
	"embed"
	"io/fs"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/kernels"
)

//go:embed src/*.cu
var sources embed.FS

// Drivers since CUDA 11.4 must accept every file without a suffix in its name, even for
// old devices. Each file must name its source.
func TestEveryTextIsForOldDriversToo(t *testing.T) {
	files, err := fs.ReadDir(kernels.Texts(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, isText := strings.CutSuffix(f.Name(), ".ptx")
		if !isText {
			continue
		}
		text, err := fs.ReadFile(kernels.Texts(), f.Name())
		if err != nil {
			t.Fatal(err)
		}
		source := "src/" + name + ".cu"
		if _, err := sources.Open(source); err != nil {
			t.Error(err)
		}
		version, target := "7.0", "sm_52"
		switch {
		case strings.HasSuffix(name, "_sm80"):
			target = "sm_80"
		case strings.HasSuffix(name, "_sm90"): // only drivers since CUDA 11.8 support such devices
			version, target = "7.8", "sm_90"
		}
		head := "// Made from " + source + " by src/build.sh; do not edit.\n\n.version " + version + "\n.target " + target + "\n"
		if !strings.HasPrefix(string(text), head) {
			t.Errorf("%s does not begin with %q", f.Name(), head)
		}
		if _, err := ptx.Parse(f.Name(), text); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
}
