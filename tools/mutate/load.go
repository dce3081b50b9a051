//go:build unix

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
	"runtime"
	"strings"
)

type listed struct {
	ImportPath, Dir, Export   string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	Deps                      []string
}

// environ returns the environment of all commands. It disables cgo, which the library does not use.
func environ(more ...string) []string {
	return append(append(os.Environ(), "CGO_ENABLED=0"), more...)
}

func goList(root string, args ...string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,Deps"}, args...)...)
	cmd.Dir, cmd.Env = root, environ()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %v: %w\n%s", args, err, complaints.String())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

type pkg struct {
	path, dir string
	rel       string // path of the folder, relative to the root
	fset      *token.FileSet
	files     []*source
	exports   types.Importer
	info      *types.Info
}

type source struct {
	path, rel string
	text      []byte
	tree      *ast.File
	generated bool
}

func load(root string, patterns []string) ([]*pkg, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	wanted, err := goList(root, patterns...)
	if err != nil {
		return nil, err
	}
	deps, err := goList(root, append([]string{"-export", "-deps"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	export := map[string]string{}
	for _, d := range deps {
		export[d.ImportPath] = d.Export
	}
	var pkgs []*pkg
	for _, w := range wanted {
		rel, err := filepath.Rel(root, w.Dir)
		if err != nil {
			return nil, err
		}
		p := &pkg{path: w.ImportPath, dir: w.Dir, rel: filepath.ToSlash(rel), fset: token.NewFileSet()}
		p.exports = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
			if export[path] == "" {
				return nil, fmt.Errorf("no export data of %s", path)
			}
			return os.Open(export[path])
		})
		for _, name := range w.GoFiles {
			s := &source{path: filepath.Join(w.Dir, name), rel: p.rel + "/" + name}
			if s.text, err = os.ReadFile(s.path); err != nil {
				return nil, err
			}
			if s.tree, err = parser.ParseFile(p.fset, s.path, s.text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
				return nil, err
			}
			s.generated = ast.IsGenerated(s.tree)
			p.files = append(p.files, s)
		}
		p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		trees := make([]*ast.File, len(p.files))
		for i, s := range p.files {
			trees[i] = s.tree
		}
		if errs := p.typeCheck(trees, p.info, p.exports); len(errs) != 0 {
			return nil, fmt.Errorf("%s: %w", p.path, errs[0])
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

// typeCheck returns all errors that the compiler would report.
func (p *pkg) typeCheck(trees []*ast.File, info *types.Info, from types.Importer) []error {
	var errs []error
	cfg := types.Config{
		Importer: from,
		Sizes:    types.SizesFor("gc", runtime.GOARCH),
		Error:    func(err error) { errs = append(errs, err) },
	}
	_, _ = cfg.Check(p.path, p.fset, trees, info) // the returned error is also the first in errs
	return errs
}

func (p *pkg) text(s *source, from, to token.Pos) string {
	return string(s.text[p.offset(from):p.offset(to)])
}

func (p *pkg) offset(pos token.Pos) int { return p.fset.PositionFor(pos, false).Offset }

func (p *pkg) line(pos token.Pos) int { return p.fset.PositionFor(pos, false).Line }

// oneLine formats code on one line and cuts it after 100 characters.
func oneLine(code string) string {
	code = strings.Join(strings.Fields(code), " ")
	if r := []rune(code); len(r) > 100 {
		code = string(r[:100]) + " …"
	}
	return code
}
