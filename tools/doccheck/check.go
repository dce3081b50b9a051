package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
)

type report struct {
	pkg   *pkg
	names int
	errs  []error

	withFields bool
}

// check finds the exported names that have no comment.
func (p *pkg) check(fields bool) *report {
	r := &report{pkg: p, withFields: fields}
	r.packageComment()
	for _, f := range p.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				r.function(d)
			case *ast.GenDecl:
				r.group(d, ast.IsGenerated(f))
			}
		}
	}
	return r
}

func (r *report) packageComment() {
	for _, f := range r.pkg.files {
		if has(f.Doc) {
			return
		}
	}
	r.errs = append(r.errs, fmt.Errorf("%s: the package has no comment", r.pkg.path))
}

// name counts an exported name. It records an error if none of the comments has text.
func (r *report) name(pos token.Pos, name string, comments ...*ast.CommentGroup) {
	r.names++
	for _, c := range comments {
		if has(c) {
			return
		}
	}
	at := r.pkg.fset.Position(pos)
	r.errs = append(r.errs, fmt.Errorf("%s/%s:%d: %s has no comment", r.pkg.path, filepath.Base(at.Filename), at.Line, name))
}

// has reports whether a comment has text other than directives.
func has(c *ast.CommentGroup) bool { return c != nil && strings.TrimSpace(c.Text()) != "" }

func (r *report) function(d *ast.FuncDecl) {
	name := d.Name.Name
	if d.Recv != nil {
		of := receiver(d.Recv.List[0].Type)
		if !ast.IsExported(of) {
			return
		}
		name = of + "." + name
	}
	if d.Name.IsExported() {
		r.name(d.Pos(), name, d.Doc)
	}
}

// receiver returns the name of a method's receiver type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func (r *report) group(d *ast.GenDecl, generated bool) {
	// The comment of a group of constants or variables is above the group, or above the first of
	// several adjacent names.
	above := d.Doc
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.IsExported() {
					r.name(n.Pos(), n.Name, s.Doc, s.Comment, above)
				}
			}
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				r.name(s.Pos(), s.Name.Name, s.Doc, s.Comment, above)
				r.members(s, cmp.Or(s.Doc, above), generated)
			}
		}
	}
}

// members checks the fields of a struct or the methods of an interface. If an interface has
// only one method, the interface's comment also counts for the method.
func (r *report) members(s *ast.TypeSpec, above *ast.CommentGroup, generated bool) {
	switch t := s.Type.(type) {
	case *ast.StructType:
		if r.withFields && !generated {
			r.fields(s.Name.Name, t.Fields, nil)
		}
	case *ast.InterfaceType:
		if len(t.Methods.List) > 1 {
			above = nil
		}
		r.fields(s.Name.Name, t.Methods, above)
	}
}

// fields checks the exported names in a struct or interface. Names on adjacent lines share the
// comment above the first of them.
func (r *report) fields(of string, fs *ast.FieldList, above *ast.CommentGroup) {
	last := -1
	for _, f := range fs.List {
		line := r.pkg.fset.Position(f.Pos()).Line
		if has(f.Doc) || last >= 0 && line != last+1 {
			above = f.Doc
		}
		last = r.pkg.fset.Position(f.End()).Line
		for _, n := range f.Names {
			if n.IsExported() {
				r.name(n.Pos(), of+"."+n.Name, f.Doc, f.Comment, above)
			}
		}
	}
}
