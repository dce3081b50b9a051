// Package gofuncs turns the functions with which the Go team tests its own compiler (in
// cmd/compile/internal/test/testdata) into kernels. It reads the functions from the Go
// installation, so this repository contains no copy.
package gofuncs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// Func is a function whose parameters and results are all numbers or bools.
type Func struct {
	File, Name      string
	Params, Results []string // types
}

// File is a test data file, converted to a package with one kernel per function.
type File struct {
	Name  string
	Text  string
	Funcs []Func
}

// words returns the number of 64-bit words that represent a value of type t. It returns 0 if the
// type is not supported.
func words(t string) int {
	switch t {
	case "bool", "int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "uint", "uintptr", "byte", "rune", "float32", "float64":
		return 1
	case "complex64", "complex128":
		return 2
	}
	return 0
}

// Words returns the number of 64-bit words that represent values of the given types.
func Words(types []string) int {
	n := 0
	for _, t := range types {
		n += words(t)
	}
	return n
}

// Read reads test data files from the Go installation at goroot.
func Read(goroot string, names ...string) ([]*File, error) {
	var files []*File
	for _, name := range names {
		f, err := read(filepath.Join(goroot, "src/cmd/compile/internal/test/testdata", name), name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func read(path, name string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	out := &File{Name: name}
	var kept []ast.Decl
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			if forTests(fn) {
				continue
			}
			if one, ok := function(name, fn); ok {
				out.Funcs = append(out.Funcs, one)
			}
		}
		kept = append(kept, d)
	}
	used := names(kept)
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"github.com/purecuda/cuda/ptx/gpu\"\n")
	if !used["math"] {
		b.WriteString("\t\"math\"\n")
	}
	for _, s := range f.Imports {
		path := strings.Trim(s.Path.Value, `"`)
		if used[filepath.Base(path)] {
			fmt.Fprintf(&b, "\t%q\n", path)
		}
	}
	b.WriteString(")\n\n")
	for _, d := range kept {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		if err := printer.Fprint(&b, fset, d); err != nil {
			return nil, err
		}
		b.WriteString("\n\n")
	}
	for _, fn := range out.Funcs {
		b.WriteString(kernel(fn))
	}
	b.WriteString(conversions)
	out.Text = b.String()
	return out, nil
}

const conversions = `
func bitsOf64(f float64) uint64 {
	if f != f {
		return 0x7ff8000000000001
	}
	return math.Float64bits(f)
}

func bitsOfBool(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
`

// forTests reports whether a function uses package testing.
func forTests(fn *ast.FuncDecl) bool {
	found := fn.Name.Name == "main" || fn.Name.Name == "init"
	ast.Inspect(fn, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && (x.Name == "testing" || x.Name == "runtime") {
				found = true
			}
		}
		return !found
	})
	return found
}

func names(decls []ast.Decl) map[string]bool {
	used := map[string]bool{}
	for _, d := range decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok {
					used[x.Name] = true
				}
			}
			return true
		})
	}
	return used
}

func function(file string, fn *ast.FuncDecl) (Func, bool) {
	if fn.Recv != nil || fn.Type.TypeParams != nil || fn.Body == nil || fn.Type.Results == nil {
		return Func{}, false
	}
	p, ok := types(fn.Type.Params)
	r, ok2 := types(fn.Type.Results)
	return Func{File: file, Name: fn.Name.Name, Params: p, Results: r}, ok && ok2 && len(r) > 0
}

func types(l *ast.FieldList) ([]string, bool) {
	var all []string
	for _, f := range l.List {
		t, ok := f.Type.(*ast.Ident)
		if !ok || words(t.Name) == 0 {
			return nil, false
		}
		for range max(1, len(f.Names)) {
			all = append(all, t.Name)
		}
	}
	return all, true
}

// KernelName returns the name of the kernel that calls the function.
func (f Func) KernelName() string { return "kernelOf_" + f.Name }

// kernel returns a kernel that calls the function for each input, except for skipped inputs.
func kernel(f Func) string {
	var b strings.Builder
	np, nr := Words(f.Params), Words(f.Results)
	fmt.Fprintf(&b, "//gpu:kernel\nfunc %s(t gpu.Thread, skip []uint8, in, out []uint64) {\n\ti := t.GlobalX()\n\tif i >= len(skip) || skip[i] != 0 {\n\t\treturn\n\t}\n", f.KernelName())
	var args, results []string
	at := 0
	for _, t := range f.Params {
		args = append(args, value(t, np, at))
		at += words(t)
	}
	for i := range f.Results {
		results = append(results, fmt.Sprintf("r%d", i))
	}
	fmt.Fprintf(&b, "\t%s := %s(%s)\n", strings.Join(results, ", "), f.Name, strings.Join(args, ", "))
	at = 0
	for i, t := range f.Results {
		r := fmt.Sprintf("r%d", i)
		for _, e := range bits(t, r) {
			fmt.Fprintf(&b, "\tout[i*%d+%d] = %s\n", nr, at, e)
			at++
		}
	}
	b.WriteString("}\n\n")
	return b.String()
}

func value(t string, n, at int) string {
	w := func(k int) string { return fmt.Sprintf("in[i*%d+%d]", n, at+k) }
	switch t {
	case "bool":
		return w(0) + "&1 != 0"
	case "float32":
		return "math.Float32frombits(uint32(" + w(0) + "))"
	case "float64":
		return "math.Float64frombits(" + w(0) + ")"
	case "complex64":
		return "complex(math.Float32frombits(uint32(" + w(0) + ")), math.Float32frombits(uint32(" + w(1) + ")))"
	case "complex128":
		return "complex(math.Float64frombits(" + w(0) + "), math.Float64frombits(" + w(1) + "))"
	}
	return t + "(" + w(0) + ")"
}

func bits(t, r string) []string {
	switch t {
	case "bool":
		return []string{"bitsOfBool(" + r + ")"}
	case "float32", "float64":
		return []string{"bitsOf64(float64(" + r + "))"}
	case "complex64", "complex128":
		return []string{"bitsOf64(float64(real(" + r + ")))", "bitsOf64(float64(imag(" + r + ")))"}
	}
	return []string{"uint64(" + r + ")"}
}
