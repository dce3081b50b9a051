//go:build nvidia

package nvidiatest

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NVIDIA's assembler must accept every PTX file in the repository when it assembles the file for
// its own target.
func TestNVIDIAAssemblerTakesEveryPTXFile(t *testing.T) {
	ptxas := part(t, "toolkit/usr/bin/ptxas")
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	files := ptxFiles(t, root)
	if len(files) == 0 {
		t.Fatal("no PTX file found")
	}
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.cubin")
			if text, err := exec.Command(ptxas, "-c", "--gpu-name", "sm_90", "-o", out, file).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// ptxFiles lists the shipped PTX files. Folders named testdata are excluded, because they may
// contain invalid PTX on purpose. The other excluded folders are not part of the repository.
func ptxFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "build" || d.Name() == "bundle" || d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".ptx") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
