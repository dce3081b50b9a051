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
	"strings"
)

type source struct {
	name  string // path of the package within the module, such as driver or graph
	files []*ast.File
	types *types.Package
	info  *types.Info
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// load parses and type-checks packages of the module in root. The names must be in an order
// in which no package imports a later one. The platform is fixed, so that the result is the
// same everywhere.
func load(root string, names ...string) ([]*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	list, err := list(root, names)
	if err != nil {
		return nil, err
	}
	l := &loading{root: root, fset: token.NewFileSet(), list: list, checked: make(map[string]*source)}
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

// users returns the package with the path in of, the packages in names, and all packages of the
// module through which these import it. Each package comes after its imports. All of them must be
// checked from source. Otherwise two packages could have different objects for the same type.
func users(root, of string, names ...string) ([]string, error) {
	args := []string{"list", "-deps", "-json=ImportPath,Imports,Module"}
	for _, n := range names {
		args = append(args, "./"+n)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []string
	uses := make(map[string]bool)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Module     *struct{ Path string }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		if p.Module == nil {
			continue
		}
		name := strings.TrimPrefix(p.ImportPath, p.Module.Path+"/")
		if name == of || slices.ContainsFunc(p.Imports, func(i string) bool { return uses[i] }) {
			uses[p.ImportPath] = true
			found = append(found, name)
		}
	}
}

func list(root string, names []string) (map[string]listed, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module"}
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
	checked  map[string]*source // checked packages, by import path
	compiled types.Importer
}

// open opens a package's export data, written by the compiler.
func (l *loading) open(path string) (io.ReadCloser, error) { return os.Open(l.list[path].Export) }

// Import implements types.Importer. It checks packages of this module from source, so that all
// their importers share the same objects. It reads other packages from export data.
func (l *loading) Import(path string) (*types.Package, error) {
	p, ok := l.list[path]
	if !ok || p.Module == nil || !p.Module.Main {
		return l.compiled.Import(path)
	}
	s, err := l.check(path, p)
	if err != nil {
		return nil, err
	}
	return s.types, nil
}

func (l *loading) load(name string) (*source, error) {
	p, err := l.find(name)
	if err != nil {
		return nil, err
	}
	return l.check(name, p)
}

// check type-checks a package from source, once.
func (l *loading) check(name string, p listed) (*source, error) {
	if s := l.checked[p.ImportPath]; s != nil {
		s.name = name
		return s, nil
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
	var err error
	if s.types, err = config.Check(p.ImportPath, l.fset, s.files, s.info); err != nil {
		return nil, err
	}
	l.checked[p.ImportPath] = s
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
