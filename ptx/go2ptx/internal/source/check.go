package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// Load parses the main package and type-checks its kernels and the declarations they use. Errors in
// the source are returned as Errors. A package without kernels results in a program without
// kernels.
func Load(cfg Config) (*Program, error) {
	l := newLoader(cfg)
	main := &unit{path: cfg.Main.Path, src: cfg.Main}
	l.units[main.path] = main
	l.order = append(l.order, main)
	l.errs = main.add(l.fset, buildContext{contextArch, cfg.Tags})
	if len(main.files) == 0 && l.errs == nil {
		l.errs = append(l.errs, main.empty()...)
	}
	kernels := l.kernels(main)
	l.run()
	l.syntax()
	unroll := l.loopDirectives()
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	c := newChecker(l)
	c.p.unroll = unroll
	c.p.Name, c.p.Declared = main.name, slices.Sorted(maps.Keys(main.decls))
	for _, u := range l.order {
		if u.reached {
			c.check(u)
		}
	}
	if l.errs == nil {
		c.findBroken()
	}
	if l.errs == nil {
		for _, k := range kernels {
			c.kernel(main.checked, k)
		}
		c.names()
	}
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	return c.p, nil
}

// empty returns the error for a package without files.
func (u *unit) empty() Errors {
	if u.nameless != nil {
		return u.nameless
	}
	var errs Errors
	at := token.Position{}
	if len(u.src.Files) > 0 {
		at = token.Position{Filename: u.src.Files[0].Name, Line: 1, Column: 1}
	}
	errs.Add(at, "package %s has no Go files for kernels", u.path)
	return errs
}

// kernels finds the kernels of the main package, marks them as reached, and reports errors in
// directives.
func (l *loader) kernels(u *unit) (found []*decl) {
	for _, f := range u.files {
		if errs := stray(l.fset, f.syntax, u.path == GPUPath); errs != nil && f.errs != nil {
			l.errs = append(l.errs, f.errs...) // a syntax error may be the reason why no function follows the directive
		} else {
			l.errs = append(l.errs, errs...)
		}
		for _, d := range f.syntax.Decls {
			fun, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			dirs, errs := parseDirectives(l.fset, u.path, fun)
			l.errs = append(l.errs, errs...)
			if !dirs.Kernel {
				continue
			}
			k := u.decls[fun.Name.Name]
			if fun.Recv != nil || k == nil || k.fun != fun {
				l.errs.Add(l.fset.PositionFor(fun.Name.Pos(), false), "a kernel is a function with a name of its own, not a method")
				continue
			}
			found = append(found, k)
			l.decl(k)
			w := &walker{l, f}
			for _, in := range dirs.Instances {
				for _, t := range in.Types {
					w.walk(t)
				}
			}
		}
	}
	return found
}

// syntax reports syntax errors in files that contain reached declarations.
func (l *loader) syntax() {
	for _, u := range l.order {
		for _, f := range u.files {
			switch {
			case f.errs == nil || !f.reached():
			case u.std:
				l.hidden = append(l.hidden, hidden{f.syntax.FileStart, f.errs[0].Msg})
			default:
				l.errs = append(l.errs, f.errs...)
			}
		}
	}
}

func (f *file) reached() bool {
	for _, d := range f.syntax.Decls {
		if f.pruned(d) != nil {
			return true
		}
	}
	return false
}

// pruned returns the reached part of a declaration, or nil if none of it is reached.
func (f *file) pruned(d ast.Decl) ast.Decl {
	u := f.unit
	switch d := d.(type) {
	case *ast.FuncDecl:
		one := u.decls[d.Name.Name]
		if d.Recv != nil {
			one = u.meths[receiver(d)][d.Name.Name]
		}
		if one == nil || one.fun != d || !one.reached {
			return nil
		}
		return d
	case *ast.GenDecl:
		out := *d
		out.Specs = nil
		for _, s := range d.Specs {
			if f.keeps(d, s) {
				out.Specs = append(out.Specs, s)
			}
		}
		if len(out.Specs) > 0 {
			return &out
		}
	}
	return nil
}

// keeps reports whether a specification is reached.
func (f *file) keeps(d *ast.GenDecl, s ast.Spec) bool {
	u := f.unit
	switch s := s.(type) {
	case *ast.TypeSpec:
		one := u.decls[s.Name.Name]
		return one != nil && one.spec == ast.Spec(s) && one.reached
	case *ast.ValueSpec:
		if d.Tok == token.CONST {
			return f.constants(d)
		}
		for _, n := range s.Names {
			if one := u.decls[n.Name]; one != nil && one.spec == ast.Spec(s) && one.reached {
				return true
			}
		}
	}
	return false
}

// constants reports whether any constant of the group is reached.
func (f *file) constants(d *ast.GenDecl) bool {
	for _, s := range d.Specs {
		for _, n := range s.(*ast.ValueSpec).Names {
			if one := f.unit.decls[n.Name]; one != nil && one.gen == d && one.reached {
				return true
			}
		}
	}
	return false
}

// syntaxFor returns the reached declarations of a file and the imports they use.
func (f *file) syntaxFor() *ast.File {
	out := &ast.File{Doc: f.syntax.Doc, Package: f.syntax.Package, Name: f.syntax.Name, FileStart: f.syntax.FileStart, FileEnd: f.syntax.FileEnd, GoVersion: f.syntax.GoVersion}
	for _, im := range f.imports {
		if im.used {
			out.Imports = append(out.Imports, im.spec)
			out.Decls = append(out.Decls, &ast.GenDecl{TokPos: im.spec.Pos(), Tok: token.IMPORT, Specs: []ast.Spec{im.spec}})
		}
	}
	imports := len(out.Decls)
	for _, d := range f.syntax.Decls {
		if p := f.pruned(d); p != nil {
			out.Decls = append(out.Decls, f.device(p))
		}
	}
	if len(out.Decls) == imports {
		return nil
	}
	return out
}

// device removes the parts of a declaration that exist only on the host: the bodies of intrinsics
// and the fields of opaque types.
func (f *file) device(d ast.Decl) ast.Decl {
	switch d := d.(type) {
	case *ast.FuncDecl:
		one := decl{file: f, fun: d}
		if d.Body != nil && one.intrinsic() {
			out := *d
			out.Body = nil
			return &out
		}
	case *ast.GenDecl:
		for i, s := range d.Specs {
			one := decl{file: f, gen: d, spec: s}
			if one.opaque() {
				t := *s.(*ast.TypeSpec)
				t.Type = &ast.StructType{Struct: t.Type.Pos(), Fields: &ast.FieldList{Opening: t.Type.Pos(), Closing: t.Type.Pos()}}
				d.Specs[i] = &t
			}
		}
	}
	return d
}

type checker struct {
	*loader
	p *Program
}

func newChecker(l *loader) *checker {
	return &checker{l, &Program{Fset: l.fset, decls: map[*types.Func]body{}, byTypes: map[*types.Package]*Package{}, texts: map[string][]byte{}, units: l.units}}
}

// check type-checks the reached part of a package, after its imports.
func (c *checker) check(u *unit) *types.Package {
	if u.checked != nil {
		return u.checked.Types
	}
	u.checking = true
	defer func() { u.checking = false }()
	pkg := &Package{Path: u.path, GoVersion: version(u.src.GoVersion), std: u.std, stub: u.stub, Info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}}
	for _, f := range u.files {
		if s := f.syntaxFor(); s != nil {
			c.p.texts[f.name] = f.data
			pkg.Files = append(pkg.Files, s)
		}
	}
	cfg := types.Config{GoVersion: pkg.GoVersion, Importer: importer{c}, Error: c.report, Sizes: types.SizesFor("gc", contextArch)}
	pkg.Types, _ = cfg.Check(u.path, c.fset, pkg.Files, pkg.Info) // errors are passed to c.report
	u.checked = pkg
	c.p.Packages = append(c.p.Packages, pkg)
	c.p.byTypes[pkg.Types] = pkg
	c.p.GoSource = c.p.GoSource || u.std
	for _, f := range pkg.Files {
		for _, d := range f.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok {
				if obj, ok := pkg.Info.Defs[fun.Name].(*types.Func); ok {
					c.p.decls[obj] = body{pkg, fun}
				}
			}
		}
	}
	return pkg.Types
}

func version(v string) string {
	if v == "" || strings.HasPrefix(v, "go") {
		return v
	}
	return "go" + v
}

// report records an error from the type checker, unless pruning is the cause of the error: a
// remaining import may be unused, and generic intrinsics have no body.
func (c *checker) report(err error) {
	e, ok := err.(types.Error)
	if !ok {
		c.errs.Add(token.Position{}, "%v", err)
		return
	}
	if e.Soft && (strings.HasSuffix(e.Msg, "imported and not used") || strings.HasSuffix(e.Msg, "missing function body")) {
		return
	}
	if c.inGo(e.Pos) {
		c.hidden = append(c.hidden, hidden{e.Pos, e.Msg})
		return
	}
	advice := ""
	if _, name, ok := strings.Cut(e.Msg, "has no field or method "); ok && c.hostMethod(name) {
		advice = "; the method is for the host, not for kernels"
	}
	c.errs.Add(c.fset.PositionFor(e.Pos, false), "%s%s", e.Msg, advice)
}

// hostMethod reports whether a reached type has a host-only method of this name.
func (c *checker) hostMethod(text string) bool {
	name, _, _ := strings.Cut(strings.TrimSuffix(text, ")"), ",")
	for _, t := range c.types {
		if m := t.file.unit.meths[t.spec.(*ast.TypeSpec).Name.Name][name]; m != nil && m.host() {
			return true
		}
	}
	return false
}

type importer struct{ c *checker }

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	u := i.c.units[path]
	if u == nil {
		return nil, fmt.Errorf("not loaded")
	}
	if u.checking {
		return nil, fmt.Errorf("import cycle")
	}
	return i.c.check(u), nil
}
