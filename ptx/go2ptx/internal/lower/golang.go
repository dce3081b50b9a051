package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// goEntry is the call or variable in the user's code through which lowering has entered the Go
// distribution. Errors inside the distribution are reported at this position, because it is the
// only place that the user can change. It is zero while the user's code is lowered.
type goEntry struct {
	pos  token.Pos
	pkg  *types.Package
	name string // the name that the user's code uses
	in   string // the function of the Go distribution that is being lowered
}

// goEntry returns the entry for the use of a package-level function, method or variable.
func (f *frame) goEntry(n ast.Node, obj types.Object) goEntry {
	pkg := f.l.prog.PackageOf(obj.Pkg())
	if pkg == nil || !pkg.FromGo() {
		return goEntry{}
	}
	name := source.NameOf(obj)
	if e := f.l.inGo; e.pos.IsValid() {
		e.in = pkg.Types.Name() + "." + name
		return e
	}
	for f.caller != nil && f.pkg.Path == pathGPU {
		f, n = f.caller, f.at0
	}
	return goEntry{n.Pos(), pkg.Types, name, pkg.Types.Name() + "." + name}
}

// literalEntry returns the entry for a function literal, or for the body of a loop, of function c.
func (f *frame) literalEntry(n ast.Node, c *frame) goEntry {
	switch {
	case !c.pkg.FromGo():
		return goEntry{}
	case f.l.inGo.pos.IsValid():
		return f.l.inGo
	}
	return c.entry
}

// named returns the declared function or method that a call names, or nil.
func (f *frame) named(fun ast.Expr) *types.Func {
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = ast.Unparen(x.X)
	case *ast.IndexListExpr:
		fun = ast.Unparen(x.X)
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	fn, _ := f.pkg.Info.Uses[id].(*types.Func)
	return fn
}

// refuseFunc reports an error and returns true if a function of the Go distribution is known not to
// compile. The caller need not lower the arguments.
func (f *frame) refuseFunc(n ast.Node, fn *types.Func) bool {
	pkg, decl := f.l.prog.Body(fn)
	if pkg == nil || !pkg.FromGo() {
		return false
	}
	reason := f.l.prog.Broken(fn)
	if reason == "" && source.HostOnly(pkg.Path) && decl.Body == nil {
		reason = pkg.Types.Name() + "." + source.NameOf(fn) + " works only on the host"
	}
	if reason == "" {
		return false
	}
	if !f.dead {
		f.l.goError(f.goEntry(n, fn), reason)
	}
	return true
}

// goError reports an error at an entry. It reports only one error for each entry.
func (l *lowerer) goError(e goEntry, reason string) {
	_, at := l.position(e.pos)
	at.Offset = 0
	for _, old := range l.errs {
		if old.Pos == at && old.ID == "go" {
			return
		}
	}
	message, advice := source.Unavailable(e.pkg, e.name, reason)
	l.errs = append(l.errs, &Error{Pos: at, ID: "go", Message: message, Advice: advice})
}
