package main

import (
	"archive/zip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxZip is the largest allowed size in bytes of the zip that "go get" downloads for the module. The
// PTX of the ready-made kernels takes 0.3 MB of it.
const maxZip = 3_500_000

// size prints the size of the module's zip and its largest folders, and returns an error if the zip
// is larger than maxZip.
func size(o options) error {
	files, err := moduleFiles(o.root)
	if err != nil {
		return err
	}
	total, folders, err := zipped(o.root, files)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "the module's zip: %d bytes of at most %d, %d files\n", total, maxZip, len(files))
	for _, f := range folders[:min(len(folders), 10)] {
		fmt.Fprintf(o.out, "%8d  %s\n", f.size, f.name)
	}
	if total > maxZip {
		return fmt.Errorf("the module's zip has %d bytes, and at most %d are allowed: what only tests need belongs in a module of its own (TESTS in the Makefile)", total, maxZip)
	}
	return nil
}

// moduleFiles returns the files that git tracks or would track, except those of nested
// modules and vendored packages. The go command puts the same files in a zip.
func moduleFiles(root string) ([]string, error) {
	out, err := command(root, nil, "git", "ls-files", "-z", "-co", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	all := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	all = slices.DeleteFunc(all, func(name string) bool {
		info, err := os.Lstat(filepath.Join(root, name))
		return err != nil || !info.Mode().IsRegular()
	})
	nested := map[string]bool{}
	for _, name := range all {
		if dir, base := path.Split(name); base == "go.mod" && dir != "" {
			nested[path.Clean(dir)] = true
		}
	}
	return slices.DeleteFunc(all, func(name string) bool {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if nested[dir] || path.Base(dir) == "vendor" {
				return true
			}
		}
		return false
	}), nil
}

type folder struct {
	name string
	size int64
}

// zipped returns the size of a zip that contains the files, and the number of bytes that each
// folder adds to it, largest first.
func zipped(root string, files []string) (int64, []folder, error) {
	var written counter
	w := zip.NewWriter(&written)
	sizes := map[string]int64{}
	for _, name := range files {
		before := written
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return 0, nil, err
		}
		f, err := w.Create("github.com/purecuda/cuda@v0.0.0/" + name)
		if err != nil {
			return 0, nil, err
		}
		if _, err := f.Write(text); err != nil {
			return 0, nil, err
		}
		if err := w.Flush(); err != nil {
			return 0, nil, err
		}
		sizes[path.Dir(name)] += int64(written - before)
	}
	if err := w.Close(); err != nil {
		return 0, nil, err
	}
	var folders []folder
	for name, size := range sizes {
		folders = append(folders, folder{name, size})
	}
	slices.SortFunc(folders, func(a, b folder) int { return int(b.size - a.size) })
	return int64(written), folders, nil
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
