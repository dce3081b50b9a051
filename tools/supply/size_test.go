package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheZipIsSmallEnough(t *testing.T) {
	var out strings.Builder
	err := size(options{root: "../..", out: &out})
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}

// The zip must contain the files that git would track, but no ignored files and no nested modules.
func TestModulesBelowAreNotInTheZip(t *testing.T) {
	root := t.TempDir()
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range map[string]string{
		"go.mod": "module m\n", "a.go": "package a\n", "sub/b.go": "package sub\n", ".gitignore": "/build/\n", "build/x": "x",
		"below/go.mod": "module m/below\n", "below/c.go": "package below\n", "below/deep/d.go": "package deep\n",
		"belowground/e.go": "package belowground\n", "vendor/f/f.go": "package f\n",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := moduleFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{".gitignore", "a.go", "belowground/e.go", "go.mod", "sub/b.go"}; !slices.Equal(got, want) {
		t.Errorf("the zip has %q, want %q", got, want)
	}
	total, folders, err := zipped(root, got)
	if err != nil || total < 500 || total > 1500 || len(folders) != 3 {
		t.Errorf("%d bytes, folders %v, %v", total, folders, err)
	}
}
