package source

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Errors in the Go distribution are of no use to the author of a kernel, who can only change the
// call. Therefore, package lower reports them at the call in the kernel. This file finds the
// functions that cannot be called, and contains advice about what to use instead.
//
// Package language contains an example of each line of the table.

// hostPackages lists the packages and folders of the Go distribution that work only on a host. The
// bodies of their functions are not read, because they would reach large parts of the distribution.
var hostPackages = set("context database embed expvar flag fmt html internal/poll internal/reflectlite internal/sync log net os plugin reflect regexp runtime sync syscall testing text unique weak")

// HostOnly reports whether the functions of a package of the Go distribution work only on a host.
func HostOnly(path string) bool {
	first, rest, _ := strings.Cut(path, "/")
	if first == "internal" {
		first, _, _ = strings.Cut(rest, "/")
		first = "internal/" + first
	}
	return hostPackages[first]
}

const (
	useGlobal  = "use gpu.AtomicAdd and the other functions gpu.Atomic…"
	useSync    = "use t.Sync between the threads of a block, and gpu.Atomic… for shared counters"
	useBool    = "return a bool instead of an error, or use gpu.Assert"
	useHost    = "use it on the host, and pass the result to the kernel"
	useStrings = "use constant strings and []byte, and build other text on the host"
)

// instead lists what kernels can use in place of functions, variables and types of the Go
// distribution. The first matching line applies. A * at the beginning or end of a name matches any
// text.
var instead = []struct{ path, names, advice string }{
	{"fmt", "Print* Fprint*", "use gpu.Printf"},
	{"fmt", "Sprint* Append*", "use gpu.Printf, or a constant string"},
	{"fmt", "Errorf", useBool},
	{"fmt", "*", useHost},
	{"log", "Fatal* Panic*", "use gpu.Assert, or panic with a constant string"},
	{"log", "*", "use gpu.Printf"},
	{"log/slog", "*", "use gpu.Printf"},
	{"errors", "*", useBool},
	{"sync", "*", useSync},
	{"sync/atomic", "Add* *.Add", "use gpu.AtomicAdd"},
	{"sync/atomic", "And* *.And", "use gpu.AtomicAnd"},
	{"sync/atomic", "Or* *.Or", "use gpu.AtomicOr"},
	{"sync/atomic", "CompareAndSwap* *.CompareAndSwap", "use gpu.AtomicCompareAndSwap"},
	{"sync/atomic", "Swap* *.Swap", "use gpu.AtomicExchange"},
	{"sync/atomic", "Load* *.Load", "use gpu.AtomicLoad"},
	{"sync/atomic", "Store* *.Store", "use gpu.AtomicStore"},
	{"sync/atomic", "*", useGlobal},
	{"time", "Now Since Until *.Sub", "use t.GlobalTimer for nanoseconds, or t.Clock64 for cycles"},
	{"time", "Sleep", "use t.Sleep"},
	{"time", "*", useHost},
	{"math/rand", "*", "pass random numbers to the kernel, or write a generator in it"},
	{"math/rand/v2", "*", "pass random numbers to the kernel, or write a generator in it"},
	{"crypto/rand", "*", "pass random numbers to the kernel"},
	{"strings", "*", useStrings},
	{"strconv", "*", useStrings},
	{"bytes", "*", useStrings},
	{"bufio", "*", useHost},
	{"io", "*", useHost},
	{"io/fs", "*", useHost},
	{"sort", "*", "sort on the host, or write the sort in the kernel"},
	{"maps", "*", "use slices with sorted keys, or an array"},
}

// Instead returns advice on what a kernel can use in place of a name of the Go distribution, or "".
// The name of a method has the form Type.Method.
func Instead(path, name string) string {
	for _, x := range instead {
		if x.path != path {
			continue
		}
		for _, p := range strings.Fields(x.names) {
			if matches(p, name) {
				return x.advice
			}
		}
	}
	if HostOnly(path) {
		return useHost
	}
	return ""
}

// matches reports whether a name matches a pattern, which may contain one * at its beginning or
// end.
func matches(pattern, name string) bool {
	if end, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(name, "."+end)
	}
	if begin, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, begin)
	}
	return name == pattern
}

// Unavailable returns the message and the advice for the use of a name of the Go distribution. If
// there is no specific advice for the name, the message contains reason, which says what cannot be
// compiled.
func Unavailable(pkg *types.Package, name, reason string) (message, advice string) {
	full := pkg.Name() + "." + name
	if advice := Instead(pkg.Path(), name); advice != "" {
		return full + " is not available in kernels", advice
	}
	return full + " cannot be compiled for kernels (" + reason + ")", "use it on the host, or write it in the kernel"
}

// NameOf returns the name of an object, with the name of the type if it is a method.
func NameOf(obj types.Object) string {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return obj.Name()
	}
	t := types.Unalias(fn.Signature().Recv().Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name() + "." + obj.Name()
	}
	return obj.Name()
}

// FromGo reports whether the package is from the Go distribution.
func (p *Package) FromGo() bool { return p.std || p.stub }

// Broken returns the reason why a function of the Go distribution cannot be compiled, or "".
func (p *Program) Broken(fn *types.Func) string { return p.broken[fn.Origin()] }

// hidden is an error in the Go distribution. It is reported where the user's code uses the
// declaration that has the error.
type hidden struct {
	pos token.Pos
	msg string
}

// inGo reports whether a position is in a file of the Go distribution.
func (l *loader) inGo(pos token.Pos) bool {
	for _, u := range l.order {
		for _, f := range u.files {
			if u.std && f.syntax.FileStart <= pos && pos <= f.syntax.FileEnd {
				return true
			}
		}
	}
	return false
}

// part is a function, or a specification of types, variables or constants, of the Go distribution.
type part struct {
	pkg    *Package
	node   ast.Node
	name   string
	users  []*part // parts that cannot be compiled if this one cannot
	reason string
}

// findBroken finds the functions that cannot be called because of hidden errors. It reports the
// uses of broken variables, types and constants in the user's code.
func (c *checker) findBroken() {
	if len(c.hidden) == 0 {
		return
	}
	slices.SortFunc(c.hidden, func(a, b hidden) int { return cmp.Compare(a.pos, b.pos) })
	var all []*part
	owner := map[types.Object]*part{}
	for _, pkg := range c.p.Packages {
		if !pkg.std {
			continue
		}
		for _, p := range partsOf(pkg) {
			all = append(all, p)
			for _, id := range declared(p.node) {
				if obj := pkg.Info.Defs[id]; obj != nil {
					owner[obj] = p
					p.name = pkg.Types.Name() + "." + NameOf(obj)
				}
			}
		}
	}
	for _, p := range all {
		for _, id := range identifiers(p.node) {
			obj := p.pkg.Info.Uses[id]
			if o := owner[obj]; o != nil && o != p && !isFunc(obj) {
				o.users = append(o.users, p)
			}
		}
	}
	for _, p := range all {
		p.breakWith(c.errorIn(p))
	}
	for _, p := range all {
		p.breakWith(p.unresolved())
	}
	c.p.broken = map[*types.Func]string{}
	for obj, p := range owner {
		if fn, ok := obj.(*types.Func); ok && p.reason != "" {
			c.p.broken[fn] = p.reason
		}
	}
	c.usesOfBroken(owner)
}

// usesOfBroken reports the uses of broken variables, types and constants in the user's code.
// Package lower reports the calls of broken functions, because many calls are never compiled.
func (c *checker) usesOfBroken(owner map[types.Object]*part) {
	for _, pkg := range c.p.Packages {
		if pkg.FromGo() {
			continue
		}
		for id, obj := range pkg.Info.Uses {
			if p := owner[obj]; p != nil && p.reason != "" && !isFunc(obj) {
				message, advice := Unavailable(obj.Pkg(), obj.Name(), p.reason)
				c.errs.Add(c.fset.PositionFor(id.Pos(), false), "%s: %s", message, advice)
			}
		}
	}
}

func isFunc(obj types.Object) bool {
	_, ok := obj.(*types.Func)
	return ok
}

func partsOf(pkg *Package) (list []*part) {
	for _, f := range pkg.Files {
		for _, d := range f.Decls {
			for _, n := range parts(d) {
				list = append(list, &part{pkg: pkg, node: n})
			}
		}
	}
	return list
}

// declared returns the names that a function or specification declares.
func declared(n ast.Node) []*ast.Ident {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	}
	return nil
}

// breakWith marks a part and its users as broken for a reason, unless they are already marked.
func (p *part) breakWith(reason string) {
	if reason == "" || p.reason != "" {
		return
	}
	p.reason = reason
	for _, u := range p.users {
		u.breakWith(reason)
	}
}

// errorIn returns the first error in a part, or "".
func (c *checker) errorIn(p *part) string {
	i, _ := slices.BinarySearchFunc(c.hidden, p.node.Pos(), func(h hidden, pos token.Pos) int { return cmp.Compare(h.pos, pos) })
	if i < len(c.hidden) && c.hidden[i].pos <= p.node.End() {
		return "in " + p.name + ": " + c.hidden[i].msg
	}
	return ""
}

// unresolved reports the first name in a part that has no type, or returns "". It is needed because
// the type checker does not report errors that result from earlier errors.
func (p *part) unresolved() string {
	for _, id := range identifiers(p.node) {
		obj, used := p.pkg.Info.Uses[id]
		_, defined := p.pkg.Info.Defs[id]
		if !used && !defined || used && isInvalid(obj) {
			return "in " + p.name + ": " + id.Name + " is not available"
		}
	}
	return ""
}

// isInvalid reports whether an object has no valid type, although its kind requires one.
func isInvalid(obj types.Object) bool {
	switch obj.(type) {
	case *types.Var, *types.Const, *types.TypeName, *types.Func:
		return obj.Type() == types.Typ[types.Invalid]
	}
	return false
}

// identifiers returns the identifiers in a part that the type checker resolves.
func identifiers(n ast.Node) (list []*ast.Ident) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name != "_" {
			list = append(list, id)
		}
		_, comment := n.(*ast.CommentGroup)
		return !comment
	})
	return list
}
