package kernels_test

import (
	"embed"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

//go:embed *.ptx src/*.cu
var texts embed.FS

// Drivers since CUDA 11.4 take what ships, and each file names its source.
func TestEveryTextIsForOldDriversToo(t *testing.T) {
	files, err := texts.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, isText := strings.CutSuffix(f.Name(), ".ptx")
		if !isText {
			continue
		}
		text, err := texts.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		source := "src/" + name + ".cu"
		if _, err := texts.Open(source); err != nil {
			t.Error(err)
		}
		head := "// Made from " + source + " by src/build.sh; do not edit.\n\n.version 7.0\n.target sm_52\n"
		if !strings.HasPrefix(string(text), head) {
			t.Errorf("%s does not begin with %q", f.Name(), head)
		}
		if _, err := ptx.Parse(f.Name(), text); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
}
