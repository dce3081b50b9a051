package source

import (
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// loader finds the declarations that kernels use. It works by name, before types are known, and may
// find more than necessary: a method is considered reached if its type is reached and any reached
// code mentions the method's name. An unexported name only counts within its package. Otherwise a
// field in user code could pull in host-only methods of package gpu.
type loader struct {
	cfg       Config
	fset      *token.FileSet
	units     map[string]*unit
	failed    map[string]error
	order     []*unit
	mentioned map[mention]bool
	types     []*decl // reached types
	queue     []*decl
	errs      Errors
	hidden    []hidden // errors in the Go distribution
}

// mention is a method name. If the name is unexported, mention includes the package.
type mention struct{ path, name string }

func (u *unit) mention(name string) mention {
	if ast.IsExported(name) {
		return mention{"", name}
	}
	return mention{u.path, name}
}

func newLoader(cfg Config) *loader {
	return &loader{cfg: cfg, fset: token.NewFileSet(), units: map[string]*unit{}, failed: map[string]error{}, mentioned: map[mention]bool{}}
}

// unit returns a package and loads it if necessary.
func (l *loader) unit(path string) (*unit, error) {
	if u := l.units[path]; u != nil {
		return u, nil
	}
	if err := l.failed[path]; err != nil {
		return nil, err
	}
	u := &unit{path: path}
	err := l.open(u)
	if err != nil {
		l.failed[path] = err
		return nil, err
	}
	l.units[path] = u
	l.order = append(l.order, u)
	return u, nil
}

func (l *loader) open(u *unit) error {
	if path, data, ok := stub(u.path); ok {
		u.stub = true
		u.src = Sources{Path: u.path, Files: []File{{Name: path, Data: data}}}
	} else if err := l.resolve(u); err != nil {
		return err
	}
	ctx := buildContext{contextArch, l.cfg.Tags}
	if u.std {
		ctx.arch = stdArch
	}
	if errs := u.add(l.fset, ctx); errs != nil {
		if u.std {
			return fmt.Errorf("%s", errs[0].Msg)
		}
		return errs.Err()
	}
	if len(u.files) == 0 {
		return fmt.Errorf("package %s has no Go files for kernels", u.path)
	}
	return nil
}

func (l *loader) resolve(u *unit) error {
	if l.cfg.Resolve == nil {
		return fmt.Errorf("package %s: no source is available", u.path)
	}
	src, err := l.cfg.Resolve(u.path)
	if err != nil {
		return err
	}
	u.src = src
	first, _, _ := strings.Cut(u.path, "/")
	main, _, _ := strings.Cut(l.cfg.Main.Path, "/")
	u.std = !strings.Contains(first, ".") && first != main
	return nil
}

// full replaces the declarations in std with the complete package from the Go distribution.
func (l *loader) full(u *unit) error {
	next := &unit{path: u.path, intrinsics: map[string]bool{}, reached: u.reached}
	for name, d := range u.decls {
		if d.fun != nil && d.fun.Body == nil {
			next.intrinsics[name] = true
		}
	}
	err := l.resolve(next)
	if err == nil {
		next.std = true
		if errs := next.add(l.fset, buildContext{stdArch, l.cfg.Tags}); errs != nil {
			err = errs.Err()
		}
	}
	if err != nil {
		return err
	}
	asked := u.asked
	*u = *next
	for _, f := range u.files {
		f.unit = u
	}
	for _, name := range asked {
		l.name(u, name)
	}
	return nil
}

// name marks a package-level name as reached.
func (l *loader) name(u *unit, name string) {
	d := u.decls[name]
	if d == nil && u.stub && ast.IsExported(name) {
		if l.full(u) == nil {
			d = u.decls[name]
		}
	}
	if d == nil {
		return // the name is predeclared, or else the type checker will report it
	}
	u.asked = append(u.asked, name)
	l.decl(d)
}

func (l *loader) decl(d *decl) {
	if d.reached {
		return
	}
	d.reached, d.file.unit.reached = true, true
	l.queue = append(l.queue, d)
	if t, ok := d.spec.(*ast.TypeSpec); ok {
		l.types = append(l.types, d)
		meths := d.file.unit.meths[t.Name.Name]
		for _, name := range slices.Sorted(maps.Keys(meths)) {
			if l.mentioned[d.file.unit.mention(name)] && !meths[name].host() {
				l.decl(meths[name])
			}
		}
	}
}

// mention marks methods as reached that have a name mentioned in the code of u.
func (l *loader) mention(u *unit, name string) {
	key := u.mention(name)
	if l.mentioned[key] {
		return
	}
	l.mentioned[key] = true
	for _, t := range l.types {
		if t.file.unit.mention(name) != key {
			continue
		}
		if m := t.file.unit.meths[t.spec.(*ast.TypeSpec).Name.Name][name]; m != nil && !m.host() {
			l.decl(m)
		}
	}
}

// run processes the queue until no new declarations are reached.
func (l *loader) run() {
	for len(l.queue) > 0 {
		d := l.queue[0]
		l.queue = l.queue[1:]
		w := &walker{l, d.file}
		switch {
		case d.fun != nil:
			w.function(d)
		case d.spec != nil:
			w.spec(d)
		default:
			for _, s := range d.gen.Specs {
				w.walk(s)
			}
		}
	}
}

type walker struct {
	l    *loader
	file *file
}

func (w *walker) function(d *decl) {
	if d.fun.Recv != nil {
		w.walk(d.fun.Recv)
	}
	w.walk(d.fun.Type)
	if d.fun.Body != nil && !d.intrinsic() {
		w.walk(d.fun.Body)
	}
}

// intrinsic reports whether the body of a function is only for the host.
func (d *decl) intrinsic() bool {
	u := d.file.unit
	if strings.HasPrefix(u.path, library) && hasDirective(d.fun.Doc, "intrinsic") {
		return true
	}
	if u.std && HostOnly(u.path) {
		return true
	}
	return d.fun.Recv == nil && u.intrinsics[d.fun.Name.Name]
}

func (w *walker) spec(d *decl) {
	t, ok := d.spec.(*ast.TypeSpec)
	if !ok {
		w.walk(d.spec)
		return
	}
	if t.TypeParams != nil {
		w.walk(t.TypeParams)
	}
	if !d.opaque() {
		w.walk(t.Type)
	}
}

// opaque reports whether a type is an empty struct on the device.
func (d *decl) opaque() bool {
	t, ok := d.spec.(*ast.TypeSpec)
	if !ok || d.file.unit.path != GPUPath {
		return false
	}
	return t.Name.Name == "Thread" || hasDirective(t.Doc, "opaque") || hasDirective(d.gen.Doc, "opaque")
}

// host reports whether a function or type of this library cannot be used in kernels.
func (d *decl) host() bool {
	if !strings.HasPrefix(d.file.unit.path, library) {
		return false
	}
	if d.fun != nil {
		return hasDirective(d.fun.Doc, "host")
	}
	t, ok := d.spec.(*ast.TypeSpec)
	return ok && (hasDirective(t.Doc, "host") || hasDirective(d.gen.Doc, "host"))
}

// other marks a name of another package as reached. The name occurs at position at.
func (w *walker) other(u *unit, name string, at token.Pos) {
	if d := u.decls[name]; d != nil && d.host() {
		w.l.errs.Add(w.l.fset.PositionFor(at, false), "%s.%s is for the host, not for kernels", u.name, name)
		return
	}
	w.l.name(u, name)
}

func hasDirective(g *ast.CommentGroup, name string) bool {
	if g == nil {
		return false
	}
	for _, c := range g.List {
		if strings.TrimRight(c.Text, " \r") == prefix+name {
			return true
		}
	}
	return false
}

func (w *walker) walk(n ast.Node) { ast.Inspect(n, w.visit) }

func (w *walker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		w.ident(n)
	case *ast.SelectorExpr:
		w.selector(n)
		return false
	case *ast.Field:
		w.walk(n.Type)
		return false
	case *ast.InterfaceType:
		for _, f := range n.Methods.List {
			for _, name := range f.Names {
				w.l.mention(w.file.unit, name.Name)
			}
		}
	case *ast.LabeledStmt:
		w.walk(n.Stmt)
		return false
	case *ast.BranchStmt, *ast.CommentGroup:
		return false
	case *ast.CompositeLit:
		w.literal(n)
		return false
	}
	return true
}

// literal visits a composite literal but skips the keys of structs. An identifier that is a key is
// treated as a package-level name only if it is a constant, which can be an array index.
func (w *walker) literal(n *ast.CompositeLit) {
	if n.Type != nil {
		w.walk(n.Type)
	}
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			w.walk(e)
			continue
		}
		w.walk(kv.Value)
		if key, ok := kv.Key.(*ast.Ident); ok {
			if d := w.file.unit.decls[key.Name]; d != nil && d.gen != nil && d.gen.Tok == token.CONST {
				w.ident(key)
			}
			continue
		}
		w.walk(kv.Key)
	}
}

func (w *walker) ident(id *ast.Ident) {
	if id.Name == "_" || w.local(id) {
		return
	}
	if id.Name == "error" {
		w.l.mention(w.file.unit, "Error")
	}
	if w.file.unit.decls[id.Name] != nil {
		w.l.name(w.file.unit, id.Name)
		return
	}
	for _, im := range w.file.imports {
		if im.name == "." {
			im.used = true
			if u := w.open(im, "", id.Pos()); u != nil {
				w.other(u, id.Name, id.Pos())
			}
		}
	}
}

// local reports whether an identifier is declared in the function that mentions it.
func (w *walker) local(id *ast.Ident) bool {
	return id.Obj != nil && w.file.syntax.Scope.Objects[id.Name] != id.Obj
}

func (w *walker) selector(n *ast.SelectorExpr) {
	x, ok := n.X.(*ast.Ident)
	if !ok || w.local(x) || w.file.unit.decls[x.Name] != nil {
		w.l.mention(w.file.unit, n.Sel.Name)
		w.walk(n.X)
		return
	}
	im := w.l.lookup(w.file, x.Name)
	if im == nil {
		w.l.mention(w.file.unit, n.Sel.Name)
		w.ident(x)
		return
	}
	im.used = true
	if u := w.open(im, n.Sel.Name, n.Pos()); u != nil {
		w.other(u, n.Sel.Name, n.Pos())
	}
}

// open loads the imported package that declares a name. If that fails, it reports an error at the
// import or, if there is advice for the name, at the name. For a dot import, the name is empty.
func (w *walker) open(im *importSpec, name string, pos token.Pos) *unit {
	l := w.l
	if im.path == "unsafe" {
		return nil
	}
	at := l.fset.PositionFor(im.spec.Pos(), false)
	if im.path == "C" && !w.file.unit.std {
		l.errs.Add(at, "a kernel cannot use cgo")
		return nil
	}
	u, err := l.unit(im.path)
	switch advice := Instead(im.path, name); {
	case err == nil:
		return u
	case w.file.unit.std: // the type checker does not find the package either
	case advice != "" && name != "":
		l.errs.Add(l.fset.PositionFor(pos, false), "%s.%s is not available in kernels: %s", guess(im.path), name, advice)
	default:
		l.fail(at, im.path, err)
	}
	return nil
}

func (l *loader) fail(at token.Position, path string, err error) {
	var list Errors
	if errors.As(err, &list) {
		l.errs = append(l.errs, list...)
		return
	}
	l.errs.Add(at, "import %q: %v", path, err)
}

func syntaxErrors(err error) (errs Errors) {
	if list, ok := err.(scanner.ErrorList); ok {
		for _, e := range list {
			errs.Add(e.Pos, "%s", e.Msg)
		}
		return errs
	}
	errs.Add(token.Position{}, "%v", err)
	return errs
}
