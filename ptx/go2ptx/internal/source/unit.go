package source

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// unit is a parsed package, with marks on its reached declarations.
type unit struct {
	path  string
	src   Sources
	name  string
	files []*file
	decls map[string]*decl            // package-level declarations by name
	meths map[string]map[string]*decl // methods by type and name
	asked []string                    // names that were looked up, in order
	// For a package of the Go distribution that std also declares: the functions that are
	// intrinsics.
	intrinsics map[string]bool
	nameless   Errors // errors in files without a package name, which are ignored
	stub       bool   // only the declarations in std have been loaded
	std        bool   // whether the package is from the Go distribution
	reached    bool
	checked    *Package
	checking   bool
}

// file is a parsed file.
type file struct {
	unit    *unit
	name    string
	data    []byte
	syntax  *ast.File
	imports []*importSpec
	errs    Errors // syntax errors
}

type importSpec struct {
	spec *ast.ImportSpec
	name string // name in the import declaration, or empty
	path string
	used bool
}

// decl is a function, or a specification of a general declaration. Constant specifications of a
// group form a single decl, because the value of iota depends on their order.
type decl struct {
	file    *file
	fun     *ast.FuncDecl
	gen     *ast.GenDecl
	spec    ast.Spec
	reached bool
}

// add parses the files that belong to the build.
func (u *unit) add(fset *token.FileSet, ctx buildContext) (errs Errors) {
	u.decls, u.meths = map[string]*decl{}, map[string]map[string]*decl{}
	sorted := slices.Clone(u.src.Files)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Name < sorted[j].Name })
	for _, f := range sorted {
		ok, err := ctx.includes(f)
		if err != nil {
			at := max(bytes.Index(f.Data, []byte("//go:build")), 0)
			errs.Add(token.Position{Filename: f.Name, Line: 1 + bytes.Count(f.Data[:at], []byte("\n")), Column: 1}, "%v", err)
		}
		if ok && err == nil {
			u.parse(fset, f, &errs)
		}
	}
	return errs
}

func (u *unit) parse(fset *token.FileSet, in File, errs *Errors) {
	syntax, err := parser.ParseFile(fset, in.Name, in.Data, parser.ParseComments|parser.AllErrors)
	f := &file{unit: u, syntax: syntax, name: in.Name, data: in.Data}
	if err != nil {
		f.errs = syntaxErrors(err)
	}
	if syntax == nil || syntax.Name == nil || syntax.Name.Name == "_" || syntax.Name.Name == "" {
		u.nameless = append(u.nameless, f.errs[:min(1, len(f.errs))]...)
		if f.errs == nil {
			u.nameless.Add(token.Position{Filename: in.Name, Line: 1, Column: 1}, "the file has no package name")
		}
		return
	}
	if u.name == "" {
		u.name = syntax.Name.Name
	}
	if u.name != syntax.Name.Name {
		errs.Add(fset.PositionFor(syntax.Name.Pos(), false), "the folder contains package %s and package %s", u.name, syntax.Name.Name)
		return
	}
	u.files = append(u.files, f)
	for _, s := range syntax.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			continue
		}
		im := &importSpec{spec: s, path: p}
		if s.Name != nil {
			im.name = s.Name.Name
		}
		f.imports = append(f.imports, im)
	}
	for _, d := range syntax.Decls {
		f.index(d)
	}
}

// index records the names that a declaration declares. If a name is declared twice, only the first
// declaration is found. The type checker reports the second one only if it is reached as part of
// another declaration.
func (f *file) index(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		one := &decl{file: f, fun: d}
		if d.Recv == nil {
			f.unit.enter(d.Name.Name, one)
			return
		}
		t := receiver(d)
		if f.unit.meths[t] == nil {
			f.unit.meths[t] = map[string]*decl{}
		}
		if f.unit.meths[t][d.Name.Name] == nil {
			f.unit.meths[t][d.Name.Name] = one
		}
	case *ast.GenDecl:
		group := &decl{file: f, gen: d}
		for _, s := range d.Specs {
			one := &decl{file: f, gen: d, spec: s}
			switch s := s.(type) {
			case *ast.TypeSpec:
				f.unit.enter(s.Name.Name, one)
			case *ast.ValueSpec:
				if d.Tok == token.CONST {
					one = group
				}
				for _, n := range s.Names {
					f.unit.enter(n.Name, one)
				}
			}
		}
	}
}

func (u *unit) enter(name string, d *decl) {
	if name != "_" && name != "init" && u.decls[name] == nil {
		u.decls[name] = d
	}
}

// receiver returns the name of a method's receiver type.
func receiver(d *ast.FuncDecl) string {
	if len(d.Recv.List) == 0 {
		return ""
	}
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// lookup finds the import that a name in a file refers to. It first compares the name with the last
// element of each import path. Only if none matches does it load the packages to learn their names.
func (l *loader) lookup(f *file, name string) *importSpec {
	for _, im := range f.imports {
		if im.name == name || im.name == "" && guess(im.path) == name {
			return im
		}
	}
	for _, im := range f.imports {
		if im.name != "" {
			continue
		}
		if u, err := l.unit(im.path); err == nil && u.name == name {
			return im
		}
	}
	return nil
}

// guess returns the likely name of a package, given its path.
func guess(p string) string {
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" && base != p {
		base = path.Base(path.Dir(p))
	}
	base, _, _ = strings.Cut(base, ".v")
	return base
}
