package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"slices"
	"strings"
)

// examples returns an error for each main type without an example. A main type is a struct that has
// a method and is returned by a function of its package. Error types and generated types do not
// count. An example belongs to a type if it is named after the type, one of its methods, or a
// function or method that returns it. Only examples with an output comment count, because Go does
// not run the others.
func (p *pkg) examples() []error {
	var errs []error
	shown := p.shown()
	for _, t := range p.mainTypes() {
		if !slices.ContainsFunc(t.names, func(n string) bool { return shown[n] }) {
			errs = append(errs, fmt.Errorf("%s: main type %s has no example that is run: add Example%s", p.path, t.name, t.name))
		}
	}
	return errs
}

// shown returns the types, methods and functions that runnable examples are named after.
func (p *pkg) shown() map[string]bool {
	m := map[string]bool{}
	for _, e := range doc.Examples(p.tests...) {
		if e.Output != "" || e.EmptyOutput {
			name, method, _ := strings.Cut(e.Name, "_")
			method, _, _ = strings.Cut(method, "_")
			m[name], m[name+"."+method] = true, true
		}
	}
	return m
}

// exempt lists the types that need no example, by package. Some of these types are only for
// packages built on top, as their comments explain. Some have CUDA's own names and layouts, and
// others need a library that may not be installed.
var exempt = map[string][]string{
	"driver":    {"Call", "Calls", "Declared"},
	"driver/cu": {"Batch", "CUstreamBatchMemOpParams_v1_WaitValue", "CUstreamBatchMemOpParams_v1_WriteValue"},
	"loader":    {"Batch", "DynamicLibrary", "Frame"},
	"ptx/nvrtc": {"Cache", "Compiler", "Result"},
}

// A mainType is a type and the names of the functions that return it.
type mainType struct {
	name  string
	names []string
}

func (p *pkg) mainTypes() []*mainType {
	structs, methods, makers := map[string]bool{}, map[string]bool{}, map[string][]string{}
	for _, f := range p.files {
		if ast.IsGenerated(f) {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				noteStructs(d, structs)
			case *ast.FuncDecl:
				noteFunction(d, methods, makers)
			}
		}
	}
	var ts []*mainType
	for name := range structs {
		if methods[name] && makers[name] != nil && !strings.HasSuffix(name, "Error") && !slices.Contains(exempt[p.path], name) {
			ts = append(ts, &mainType{name, append(makers[name], name)})
		}
	}
	slices.SortFunc(ts, func(a, b *mainType) int { return strings.Compare(a.name, b.name) })
	return ts
}

func noteStructs(d *ast.GenDecl, structs map[string]bool) {
	for _, s := range d.Specs {
		if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() {
			if _, ok := t.Type.(*ast.StructType); ok {
				structs[t.Name.Name] = true
			}
		}
	}
}

func noteFunction(d *ast.FuncDecl, methods map[string]bool, makers map[string][]string) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv != nil {
		methods[receiver(d.Recv.List[0].Type)] = true
	}
	if d.Type.Results == nil {
		return
	}
	for _, r := range d.Type.Results.List {
		name := receiver(r.Type)
		maker := d.Name.Name
		if d.Recv != nil {
			maker = receiver(d.Recv.List[0].Type) + "." + maker
		}
		makers[name] = append(makers[name], maker)
	}
}
