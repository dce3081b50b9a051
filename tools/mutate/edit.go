//go:build unix

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// switchPath is the path of the package with the variable that selects a change. The package
// exists only in the overlay.
const (
	switchPath = "internal/mutate/mutant"
	switchName = "mutant_"
)

// switchText is the source of the package at switchPath. It reads the number of the selected change
// from the environment before other packages are initialised. With MUTATE_TRACE it records in a
// file which changes are reached.
const switchText = `// Package mutant says which change of the code is made.
package mutant

import (
	"strconv"
	"sync/atomic"
	"syscall"
)

var ID = number()

func number() int {
	s, _ := syscall.Getenv("MUTATE_ID")
	n, _ := strconv.Atoi(s)
	return n
}

var (
	trace, _ = syscall.Getenv("MUTATE_TRACE")
	seen     [1 << 16]atomic.Bool
)

// On is for the run that finds out which tests reach what.
//
//go:norace
func On(id int) bool {
	if trace != "" && !seen[id].Load() && !seen[id].Swap(true) {
		if f, err := syscall.Open(trace, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CREAT, 0o666); err == nil {
			_, _ = syscall.Write(f, []byte(strconv.Itoa(id)+"\n"))
			_ = syscall.Close(f)
		}
	}
	return id == ID
}
`

type numbered struct {
	*site
	id int
}

// span is the range of a change in an instrumented file.
type span struct {
	site     *site
	from, to int
}

// instrument returns a file with all of its changes. The code of a change runs only if its number
// is selected. If tracing is set, the file also records which changes are reached.
func (p *pkg) instrument(s *source, changes []numbered, module string, tracing bool) ([]byte, []span) {
	type edit struct {
		insertion
		text string
		n    int
	}
	var edits []edit
	for n, c := range changes {
		cond := fmt.Sprintf("(%s.ID == %d)", switchName, c.id)
		if tracing {
			cond = fmt.Sprintf("%s.On(%d)", switchName, c.id)
		}
		for _, put := range c.put {
			edits = append(edits, edit{put, strings.ReplaceAll(put.text, on, cond), n})
		}
	}
	// At the same position, closing text precedes opening text. Nested changes close from
	// the inside out, and open from the outside in.
	slices.SortStableFunc(edits, func(a, b edit) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.after != b.after:
			if a.after {
				return -1
			}
			return 1
		case a.after:
			return cmp.Or(cmp.Compare(a.span, b.span), b.n-a.n)
		}
		return cmp.Or(cmp.Compare(b.span, a.span), a.n-b.n)
	})
	var out bytes.Buffer
	spans := make([]span, len(changes))
	for n, c := range changes {
		spans[n] = span{site: c.site, from: -1}
	}
	// The import is on the line of the package clause, so that line numbers do not change.
	head := p.offset(s.tree.Name.End())
	done := 0
	upTo := func(offset int) {
		if done <= head && head < offset {
			out.Write(s.text[done:head])
			fmt.Fprintf(&out, "; import %s %q", switchName, module+"/"+switchPath)
			done = head
		}
		out.Write(s.text[done:offset])
		done = offset
	}
	for _, e := range edits {
		upTo(e.at)
		if spans[e.n].from < 0 {
			spans[e.n].from = out.Len()
		}
		out.WriteString(e.text)
		spans[e.n].to = out.Len()
	}
	upTo(len(s.text))
	return out.Bytes(), spans
}

// switchTypes is an importer that also provides the package at switchPath.
type switchTypes struct {
	types.Importer
	pkg *types.Package
}

func (s switchTypes) Import(path string) (*types.Package, error) {
	if path == s.pkg.Path() {
		return s.pkg, nil
	}
	return s.Importer.Import(path)
}

// wrong returns the changes that do not compile.
func (p *pkg) wrong(chosen []*site) ([]*site, error) {
	const module = "mutate.invalid"
	byFile := map[*source][]numbered{}
	for i, s := range chosen {
		byFile[s.src] = append(byFile[s.src], numbered{s, i + 1})
	}
	of := types.NewPackage(module+"/"+switchPath, "mutant")
	of.Scope().Insert(types.NewVar(0, of, "ID", types.Typ[types.Int]))
	of.MarkComplete()
	var trees []*ast.File
	spans := map[string][]span{}
	for _, s := range p.files {
		if len(byFile[s]) == 0 {
			trees = append(trees, s.tree)
			continue
		}
		text, at := p.instrument(s, byFile[s], module, false)
		name := s.path + "#changed"
		spans[name] = at
		tree, err := parser.ParseFile(p.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, text)
		}
		trees = append(trees, tree)
	}
	var bad []*site
	for _, err := range p.typeCheck(trees, nil, switchTypes{p.exports, of}) {
		var e types.Error
		if !errors.As(err, &e) {
			return nil, err
		}
		if e.Soft && strings.Contains(e.Msg, "imported and not used") {
			continue
		}
		pos := p.fset.PositionFor(e.Pos, false)
		var inner *site
		size := 0
		for _, s := range spans[pos.Filename] {
			if s.from <= pos.Offset && pos.Offset <= s.to && (inner == nil || s.to-s.from < size) {
				inner, size = s.site, s.to-s.from
			}
		}
		if inner == nil {
			// The error, such as a missing return, is outside all changes. Blame the nearest
			// change.
			for _, s := range spans[pos.Filename] {
				far := max(s.from-pos.Offset, pos.Offset-s.to)
				if inner == nil || far < size {
					inner, size = s.site, far
				}
			}
		}
		if inner == nil {
			return nil, fmt.Errorf("%v: an error that is of none of the changes: %s", pos, e.Msg)
		}
		if !slices.Contains(bad, inner) {
			bad = append(bad, inner)
		}
	}
	return bad, nil
}

// overlay writes the files with all changes. It also writes the list that the go command's
// -overlay flag requires.
func overlay(root, dir, module string, pkgs []*pkg, changes map[*pkg][]numbered, tracing bool) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		name := filepath.Join(dir, strconv.Itoa(len(replace))+"_"+filepath.Base(path))
		replace[path] = name
		if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, text) {
			return nil
		}
		return os.WriteFile(name, text, 0o666)
	}
	if err := put(filepath.Join(root, filepath.FromSlash(switchPath), "mutant.go"), []byte(switchText)); err != nil {
		return "", err
	}
	for _, p := range pkgs {
		byFile := map[*source][]numbered{}
		for _, c := range changes[p] {
			byFile[c.src] = append(byFile[c.src], c)
		}
		for _, s := range p.files {
			if len(byFile[s]) == 0 {
				continue
			}
			text, _ := p.instrument(s, byFile[s], module, tracing)
			if err := put(s.path, text); err != nil {
				return "", err
			}
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o666)
}
