package lower

import (
	"go/ast"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// closure is a function value. Its function is known at compile time.
type closure struct {
	typ types.Type

	// For a function literal, or for the body of a range over a function.
	f    *frame
	lit  *ast.FuncLit
	body *rangeFunc

	// For a declared function.
	in     instance
	recv   *val // receiver of a method value
	method bool // whether this is a method expression, whose first argument is the receiver

	ext *ir.Func // a function that another PTX file defines
}

// callee is the declared function that a call expression calls.
type callee struct {
	in   instance
	recv *val
}

func (f *frame) call(e *ast.CallExpr) []val {
	fun := ast.Unparen(e.Fun)
	if tv := f.pkg.Info.Types[fun]; tv.IsType() {
		return []val{f.conversion(e)}
	} else if tv.IsBuiltin() {
		return f.builtin(e, fun)
	}
	if named := f.named(fun); named != nil && (f.refuseFunc(e, named) || f.returnsError(e, f.pkg.Info.TypeOf(fun), named)) {
		return f.zeros(e)
	}
	if c, ok := f.staticCallee(fun); ok {
		if c == nil {
			return f.zeros(e)
		}
		return f.callInstance(e, *c)
	}
	fn := f.expr(fun)
	sig, ok := under(fn.typ).(*types.Signature)
	if !ok {
		return f.zeros(e)
	}
	args := f.arguments(e, sig)
	f.at(e)
	return f.callFunc(e, fn, args)
}

// returnsError reports an error and returns true if the user's code calls a function of its own that
// has an error among its results. Only an error that is always nil could be compiled. fn is the
// function, or nil if it has no name.
func (f *frame) returnsError(n ast.Node, typ types.Type, fn *types.Func) bool {
	sig, ok := under(typ).(*types.Signature)
	if !ok || f.pkg.FromGo() {
		return false
	}
	if fn != nil {
		if pkg, _ := f.l.prog.Body(fn); pkg != nil && pkg.FromGo() {
			return false
		}
	}
	for i := range sig.Results().Len() {
		if types.Identical(sig.Results().At(i).Type(), types.Universe.Lookup("error").Type()) {
			f.errorf(n, "error-result")
			return true
		}
	}
	return false
}

// zeros returns zero values in place of a call's results after an error.
func (f *frame) zeros(e ast.Expr) []val {
	t := f.typeOf(e)
	if tuple, ok := t.(*types.Tuple); ok {
		var list []val
		for i := range tuple.Len() {
			list = append(list, f.zeroOf(tuple.At(i).Type()))
		}
		return list
	}
	if t == nil || t == types.Typ[types.Invalid] {
		return nil
	}
	return []val{f.zeroOf(t)}
}

// staticCallee returns the declared function that a call expression names. It returns nil and true
// if it has reported an error.
func (f *frame) staticCallee(fun ast.Expr) (*callee, bool) {
	switch x := fun.(type) {
	case *ast.Ident:
		if fn, ok := f.pkg.Info.Uses[x].(*types.Func); ok {
			return &callee{in: f.instance(x, fn)}, true
		}
	case *ast.IndexExpr:
		return f.staticGeneric(x.X)
	case *ast.IndexListExpr:
		return f.staticGeneric(x.X)
	case *ast.SelectorExpr:
		s := f.pkg.Info.Selections[x]
		if s == nil {
			if fn, ok := f.pkg.Info.Uses[x.Sel].(*types.Func); ok {
				return &callee{in: f.instance(x.Sel, fn)}, true
			}
			return nil, false
		}
		if s.Kind() == types.MethodVal {
			return f.methodCallee(x), true
		}
	}
	return nil, false
}

func (f *frame) staticGeneric(x ast.Expr) (*callee, bool) {
	if _, ok := under(f.pkg.Info.TypeOf(x)).(*types.Signature); !ok {
		return nil, false
	}
	switch ast.Unparen(x).(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return f.staticCallee(ast.Unparen(x))
	}
	return nil, false
}

// instance returns fn with the type arguments of the identifier that names it.
func (f *frame) instance(id *ast.Ident, fn *types.Func) instance {
	in := instance{fn: fn.Origin()}
	list := f.pkg.Info.Instances[id].TypeArgs
	for i := range list.Len() {
		in.args = append(in.args, f.subst(list.At(i)))
	}
	return in
}

// methodCallee looks up a method and evaluates its receiver.
func (f *frame) methodCallee(e *ast.SelectorExpr) *callee {
	x := f.operand(e.X)
	recv := x.typ
	if x.none {
		return nil
	}
	if types.IsInterface(recv) {
		b, ok := f.dynamic(e, f.load(x))
		if !ok {
			return nil
		}
		if b == nil {
			f.check("nil", "", f.bool(false))
			return nil
		}
		recv = b.v.typ
		x = f.whole(f.temp("value", recv, e.Pos(), tagReceiver, b.v))
	}
	obj, path, _ := types.LookupFieldOrMethod(recv, true, f.pkg.Types, e.Sel.Name)
	fn, ok := obj.(*types.Func)
	if !ok {
		// Look up an unexported method of another package in that package.
		if s := f.pkg.Info.Selections[e]; s != nil && s.Obj().Pkg() != nil {
			obj, path, _ = types.LookupFieldOrMethod(recv, true, s.Obj().Pkg(), e.Sel.Name)
			fn, ok = obj.(*types.Func)
		}
	}
	if !ok {
		f.errorf(e, "internal", "no method "+e.Sel.Name)
		return nil
	}
	return f.bindMethod(e, x, fn, path)
}

// bindMethod follows embedded fields to the receiver of a method.
func (f *frame) bindMethod(e *ast.SelectorExpr, x loc, fn *types.Func, path []int) *callee {
	for _, i := range path[:len(path)-1] {
		x = f.field(e, x, i)
	}
	if types.IsInterface(x.typ) { // x is an embedded interface
		b, ok := f.dynamic(e, f.load(x))
		if !ok || b == nil {
			return nil
		}
		obj, path, _ := types.LookupFieldOrMethod(b.v.typ, true, f.pkg.Types, fn.Name())
		m, ok := obj.(*types.Func)
		if !ok {
			return nil
		}
		return f.bindMethod(e, f.whole(f.temp("value", b.v.typ, e.Pos(), tagReceiver, b.v)), m, path)
	}
	want := fn.Signature().Recv().Type()
	_, wantsPointer := types.Unalias(want).(*types.Pointer)
	pt, isPointer := under(x.typ).(*types.Pointer)
	in := instance{fn: fn.Origin()}
	named := x.typ
	var r val
	switch {
	case wantsPointer && isPointer:
		r, named = f.load(x), pt.Elem()
	case wantsPointer:
		r = single(types.NewPointer(x.typ), f.addr(e, x))
	case isPointer:
		r, named = f.load(f.deref(e, f.load(x))), pt.Elem()
	default:
		r = f.snapshot(f.load(x), e.Pos())
	}
	if n, ok := types.Unalias(named).(*types.Named); ok {
		for i := range n.TypeArgs().Len() {
			in.args = append(in.args, n.TypeArgs().At(i))
		}
	}
	return &callee{in, &r}
}

func (f *frame) methodValue(e *ast.SelectorExpr) val {
	c := f.methodCallee(e)
	t := f.typeOf(e)
	if c == nil {
		return f.zeroOf(t)
	}
	return single(t, &closure{typ: t, in: c.in, recv: c.recv})
}

func (f *frame) methodExpr(e *ast.SelectorExpr, s *types.Selection) val {
	t := f.typeOf(e)
	recv := f.subst(s.Recv())
	obj, _, _ := types.LookupFieldOrMethod(recv, true, f.pkg.Types, e.Sel.Name)
	fn, ok := obj.(*types.Func)
	if !ok || types.IsInterface(recv) || len(s.Index()) != 1 {
		f.errorf(e, "method-expr")
		return f.zeroOf(t)
	}
	in := instance{fn: fn.Origin()}
	base := recv
	if p, ok := under(recv).(*types.Pointer); ok {
		base = p.Elem()
	}
	if n, ok := types.Unalias(base).(*types.Named); ok {
		for i := range n.TypeArgs().Len() {
			in.args = append(in.args, n.TypeArgs().At(i))
		}
	}
	return single(t, f.l.funcClosure(&closure{typ: t, in: in, method: true}))
}

// funcValue returns a declared function as a value.
func (f *frame) funcValue(id *ast.Ident, fn *types.Func) val {
	t := f.typeOf(id)
	return single(t, f.l.funcClosure(&closure{typ: t, in: f.instance(id, fn)}))
}

// funcClosure returns c, or an equal closure that was created earlier.
func (l *lowerer) funcClosure(c *closure) *closure {
	key := l.key(c.in)
	if c.method {
		key += " method"
	}
	if old := l.closures[key]; old != nil {
		return old
	}
	l.closures[key] = c
	return c
}

// arguments evaluates the arguments of a call and converts them to the types of the parameters.
func (f *frame) arguments(e *ast.CallExpr, sig *types.Signature) []val {
	n := sig.Params().Len()
	var values []val
	if len(e.Args) == 1 && n != 1 || len(e.Args) == 1 && sig.Variadic() && isTuple(f.typeOf(e.Args[0])) {
		values = f.exprs(e.Args[0])
	} else {
		values = f.values(e.Args, len(e.Args))
	}
	if sig.Variadic() && !e.Ellipsis.IsValid() {
		values = f.variadic(e, sig, values)
	}
	values = f.pad(values, n)[:n]
	for i := range values {
		values[i] = f.convertTo(e, values[i], sig.Params().At(i).Type())
	}
	return values
}

func isTuple(t types.Type) bool {
	_, ok := t.(*types.Tuple)
	return ok
}

// variadic collects the variadic arguments in a slice.
func (f *frame) variadic(e *ast.CallExpr, sig *types.Signature, values []val) []val {
	n := sig.Params().Len() - 1
	t := sig.Params().At(n).Type()
	s, ok := under(t).(*types.Slice)
	if !ok || len(values) <= n {
		return append(values[:min(n, len(values)):min(n, len(values))], f.zeroOf(t))
	}
	rest := values[n:]
	at := types.NewArray(s.Elem(), int64(len(rest)))
	v := f.newVar("args", at, e.Lparen, tagLiteral)
	f.store(f.whole(v), f.zeroOf(at))
	for i, x := range rest {
		f.store(f.element(e, f.whole(v), at, f.int(int64(i))), f.convertTo(e, x, s.Elem()))
	}
	size := f.int(int64(len(rest)))
	return append(values[:n:n], val{typ: t, leaves: []leaf{place{v, 0}, size, size}})
}

// callInstance lowers a call of a declared function.
func (f *frame) callInstance(e *ast.CallExpr, c callee) []val {
	if pkg := c.in.fn.Pkg(); pkg != nil && pkg.Path() == pathGPU {
		switch name := c.in.fn.Name(); name {
		case "PTX", "PurePTX":
			return f.ptx(e, c.in, name == "PurePTX")
		case "Printf":
			f.printf(e)
			return nil
		}
	}
	sig := f.l.subst(c.in.fn.Signature(), f.l.env(c.in)).(*types.Signature)
	args := f.arguments(e, sig)
	f.at(e)
	if c.recv != nil {
		args = append([]val{*c.recv}, args...)
	}
	return f.callArgs(e, c.in, args)
}

// callFunc lowers a call of a function value.
func (f *frame) callFunc(n ast.Node, fn val, args []val) []val {
	if len(fn.leaves) != 1 {
		return nil
	}
	results := func() []val {
		var list []val
		if sig, ok := under(fn.typ).(*types.Signature); ok {
			for i := range sig.Results().Len() {
				list = append(list, f.zeroOf(sig.Results().At(i).Type()))
			}
		}
		return list
	}
	switch c := fn.leaves[0].(type) {
	case *closure:
		switch {
		case f.returnsError(n, fn.typ, c.in.fn):
			return results()
		case c.body != nil:
			return []val{f.callBody(n, c.body, args)}
		case c.lit != nil:
			return f.callLit(n, c, args)
		case c.ext != nil:
			return f.callOther(c, args)
		}
		if c.recv != nil {
			args = append([]val{*c.recv}, args...)
		}
		return f.callArgs(n, c.in, args)
	case nilLeaf:
		f.check("nil", "", f.bool(false))
		f.exit()
	case dead:
	default:
		f.errorf(n, "func-known")
	}
	return results()
}

// callArgs lowers a call whose arguments include the receiver, which is first.
func (f *frame) callArgs(n ast.Node, in instance, args []val) []val {
	pkg, decl := f.l.prog.Body(in.fn)
	key := f.l.key(in)
	if r, ok := f.intrinsic(n, in, args); ok {
		return r
	}
	entry := f.goEntry(n, in.fn)
	switch {
	case f.refuseFunc(n, in.fn):
		return f.resultsOf(in)
	case decl == nil || decl.Body == nil:
		if entry.pos.IsValid() {
			f.l.goError(entry, entry.in+" has no Go code")
		} else {
			f.errorf(n, "no-body", in.fn.FullName())
		}
		return f.resultsOf(in)
	case f.l.recurse[key] || f.l.prog.Directives(in.fn).NoInline:
		if _, ok := f.l.entries[key]; !ok {
			f.l.entries[key] = entry
		}
		return f.callModule(in, args)
	}
	for c := f; c != nil; c = c.caller {
		if c.key == key {
			f.l.retry(key, f.l.recurse)
			return f.resultsOf(in)
		}
	}
	return f.inlineCall(n, in, pkg, decl, args)
}

func (f *frame) resultsOf(in instance) []val {
	var list []val
	sig := f.l.subst(in.fn.Signature(), f.l.env(in)).(*types.Signature)
	for i := range sig.Results().Len() {
		list = append(list, f.zeroOf(sig.Results().At(i).Type()))
	}
	return list
}

// callModule emits a call of a module function, which is not inlined.
func (f *frame) callModule(in instance, args []val) []val {
	fn := f.l.funcOf(in)
	call := f.builder.f.NewValue(ir.OpCall, ir.TNone)
	for _, a := range args {
		a = f.loadAll(a)
		for _, x := range a.leaves {
			if !isRegister(x) {
				f.l.errorf(f.l.now, "func-param", f.typeText(a.typ))
				return f.resultsOf(in)
			}
			call.Args = append(call.Args, f.value(x))
		}
	}
	if len(call.Args) != len(fn.Params) {
		return f.resultsOf(in) // an error has been reported
	}
	call.Callee, call.Pos = fn, f.pos
	switch len(fn.Results) {
	case 0:
	case 1:
		call.Type = fn.Results[0]
	default:
		call.Type, call.Tuple = ir.TTuple, fn.Results
	}
	f.cur.Append(call)
	results := f.resultsOf(in)
	i := 0
	for _, r := range results {
		for j := range r.leaves {
			if i >= len(fn.Results) {
				break
			}
			r.leaves[j] = call
			if call.Type == ir.TTuple {
				r.leaves[j] = f.opAux(ir.OpExtract, fn.Results[i], int64(i), call)
			}
			i++
		}
	}
	return results
}

func isRegister(x leaf) bool {
	switch x.(type) {
	case *ir.Value, place, constString, dead:
		return true
	}
	return false
}

// loadAll returns v unless it is too large to be passed in registers, which is an error.
func (f *frame) loadAll(v val) val {
	if v.from != nil || v.zero {
		f.l.errorf(f.l.now, "func-param", f.typeText(v.typ))
		return val{typ: v.typ}
	}
	return v
}

// inlineCall lowers the body of a declared function in place of the call.
func (f *frame) inlineCall(n ast.Node, in instance, pkg *source.Package, decl *ast.FuncDecl, args []val) []val {
	g := &frame{builder: f.builder, pkg: pkg, env: f.l.env(in), key: f.l.key(in), caller: f, depth: f.depth + 1,
		decl: in.fn.Signature(), vars: map[types.Object]*variable{}, nobounds: f.builder.f.Options.NoBounds || f.l.prog.Directives(in.fn).NoBounds}
	g.entry = f.goEntry(n, in.fn)
	return f.enterCall(n, g, f.l.goName(in.fn), params(in.fn.Signature()), args, decl.Type, decl.Body)
}

// callLit lowers the body of a function literal in place of the call.
func (f *frame) callLit(n ast.Node, c *closure, args []val) []val {
	for g := f; g != nil; g = g.caller {
		if g.lit == c.lit && g.outer == c.f {
			f.errorf(n, "recursive-closure")
			return nil
		}
	}
	sig, ok := c.f.pkg.Info.TypeOf(c.lit).(*types.Signature)
	if !ok {
		return nil
	}
	g := &frame{builder: f.builder, pkg: c.f.pkg, env: c.f.env, outer: c.f, caller: f, lit: c.lit, depth: f.depth + 1,
		decl: sig, vars: map[types.Object]*variable{}, nobounds: c.f.nobounds}
	g.entry = f.literalEntry(n, c.f)
	return f.enterCall(n, g, "func literal", params(sig), args, c.lit.Type, c.lit.Body)
}

func (f *frame) enterCall(n ast.Node, g *frame, name string, ps []*types.Var, args []val, ft *ast.FuncType, body *ast.BlockStmt) []val {
	if g.depthLimit() {
		return f.zerosOf(g)
	}
	site, now, pos, inGo := f.site, f.l.now, f.pos, f.l.inGo
	g.at0, f.l.inGo = n, g.entry
	f.l.mod.Inlines = append(f.l.mod.Inlines, ir.Inline{Func: name, At: f.pos})
	g.inline = int32(len(f.l.mod.Inlines))
	f.builder.site = f.l.site(site, n.Pos(), 0)
	g.sig = f.l.subst(g.decl, g.env).(*types.Signature)
	for i, p := range ps {
		t := g.subst(p.Type())
		x := g.newVar(p.Name(), t, p.Pos(), tagParam+i)
		g.vars[p] = x
		if i < len(args) {
			g.store(g.whole(x), args[i])
		}
	}
	g.declareResults(g.decl, ft)
	g.ret = f.newBlock()
	g.run(body)
	f.builder.site, f.l.now, f.pos, f.l.inGo = site, now, pos, inGo
	var results []val
	for _, r := range g.results {
		results = append(results, f.load(f.whole(r)))
	}
	return results
}

func (f *frame) zerosOf(g *frame) []val {
	var list []val
	sig := f.l.subst(g.decl, g.env).(*types.Signature)
	for i := range sig.Results().Len() {
		list = append(list, f.zeroOf(sig.Results().At(i).Type()))
	}
	return list
}
