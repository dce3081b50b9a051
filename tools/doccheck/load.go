package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A pkg holds the files of one package, regardless of build constraints.
type pkg struct {
	path  string // path relative to the root, with slashes
	fset  *token.FileSet
	files []*ast.File
	tests []*ast.File // the files that may contain examples
}

// load reads the packages that pkg.go.dev shows.
func load(root string) ([]*pkg, error) {
	var pkgs []*pkg
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != root && hidden(dir) {
			return filepath.SkipDir
		}
		p, err := read(root, dir)
		if p != nil {
			pkgs = append(pkgs, p)
		}
		return err
	})
	return pkgs, err
}

// hidden reports whether other modules cannot import packages in or below a folder.
func hidden(dir string) bool {
	name := filepath.Base(dir)
	if name == "internal" || name == "testdata" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// read parses the package in dir. It returns nil if dir contains no package or only a command. It
// ignores a program in the same folder, such as a generator.
func read(root, dir string) (*pkg, error) {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	p := &pkg{path: filepath.ToSlash(rel), fset: token.NewFileSet()}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		switch {
		case err != nil:
			return nil, err
		case strings.HasSuffix(name, "_test.go"):
			p.tests = append(p.tests, f)
		case f.Name.Name == "main":
			continue
		default:
			p.files = append(p.files, f)
		}
	}
	if len(p.files) == 0 {
		return nil, nil
	}
	return p, nil
}
