package loader_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/loader"
)

// FuzzEnvironment searches for libraries with arbitrary values of CUDA_PATH and CUDA_HOME. The
// search must ignore a relative folder. Wildcards in a folder's name must not stop it.
func FuzzEnvironment(f *testing.F) {
	f.Add("/usr/local/cuda", "")
	f.Add("relative", "/opt/[cuda")
	f.Add("/\xff*?[a-", "..")
	f.Fuzz(func(t *testing.T, path, home string) {
		if strings.Contains(path+home, "\x00") {
			return // an environment variable cannot hold this value
		}
		t.Setenv("CUDA_PATH", path)
		t.Setenv("CUDA_HOME", home)
		for _, root := range loader.ToolkitRoots() {
			if root == path && !filepath.IsAbs(path) {
				t.Errorf("the relative %q is a folder of the toolkit", path)
			}
		}
		if names := (loader.Toolkit{Linux: []string{"libcublas.so*"}, Windows: []string{"cublas64_*.dll"}}).Names(); len(names) == 0 {
			t.Error("nothing is tried")
		}
	})
}
