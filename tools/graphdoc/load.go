package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// source is a package with its syntax.
type source struct {
	name  string // as in the module: driver, graph
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// listed is a package in the output of go list.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// load parses and checks packages of the module in root, in an order in which none
// imports a later one. It does not need the source of what they import. The platform is
// always the same, so that the result is too.
func load(root string, names ...string) ([]*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	list, err := list(root, names)
	if err != nil {
		return nil, err
	}
	l := &loading{root: root, fset: token.NewFileSet(), list: list, checked: make(map[string]*types.Package)}
	l.compiled = importer.ForCompiler(l.fset, "gc", l.open)
	var all []*source
	for _, name := range names {
		s, err := l.load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// list runs go list for packages and what they import.
func list(root string, names []string) (map[string]listed, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, n := range names {
		args = append(args, "./"+n)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	all := make(map[string]listed)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
}

type loading struct {
	root     string
	fset     *token.FileSet
	list     map[string]listed
	checked  map[string]*types.Package // packages checked from source
	compiled types.Importer
}

// open opens a package's export data, written by the compiler.
func (l *loading) open(path string) (io.ReadCloser, error) { return os.Open(l.list[path].Export) }

// Import implements types.Importer. A package that was checked from source has the same
// objects for all that import it.
func (l *loading) Import(path string) (*types.Package, error) {
	if p := l.checked[path]; p != nil {
		return p, nil
	}
	return l.compiled.Import(path)
}

func (l *loading) load(name string) (*source, error) {
	p, err := l.find(name)
	if err != nil {
		return nil, err
	}
	s := &source{name: name, info: &types.Info{Defs: make(map[*ast.Ident]types.Object), Uses: make(map[*ast.Ident]types.Object),
		Types: make(map[ast.Expr]types.TypeAndValue)}}
	slices.Sort(p.GoFiles)
	for _, f := range p.GoFiles {
		syntax, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, f), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, syntax)
	}
	config := types.Config{Importer: l, Sizes: types.SizesFor("gc", "amd64")}
	if s.types, err = config.Check(p.ImportPath, l.fset, s.files, s.info); err != nil {
		return nil, err
	}
	l.checked[p.ImportPath] = s.types
	return s, nil
}

func (l *loading) find(name string) (listed, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(l.root, name))
	if err != nil {
		return listed{}, err
	}
	for _, p := range l.list {
		if d, err := filepath.EvalSymlinks(p.Dir); err == nil && d == dir {
			return p, nil
		}
	}
	return listed{}, fmt.Errorf("no package in %s", dir)
}
