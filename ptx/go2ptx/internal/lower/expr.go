package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// exprs evaluates an expression with any number of results.
func (f *frame) exprs(e ast.Expr) []val {
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok && f.pkg.Info.Types[e].Value == nil {
		f.at(call)
		return f.call(call)
	}
	if a, ok := ast.Unparen(e).(*ast.TypeAssertExpr); ok && isTuple(f.typeOf(e)) {
		return f.typeAssert(a)
	}
	return []val{f.expr(e)}
}

// expr evaluates an expression with one result.
func (f *frame) expr(e ast.Expr) val {
	f.at(e)
	tv := f.pkg.Info.Types[e]
	if tv.Value != nil {
		return f.constant(e, f.subst(tv.Type), tv.Value)
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.expr(e.X)
	case *ast.CallExpr:
		r := f.call(e)
		if len(r) != 1 {
			return f.zeroOf(types.Typ[types.Int])
		}
		return r[0]
	case *ast.Ident:
		return f.ident(e)
	case *ast.SelectorExpr:
		return f.selector(e)
	case *ast.IndexExpr:
		return f.indexExpr(e)
	case *ast.IndexListExpr:
		return f.expr(e.X)
	case *ast.SliceExpr:
		return f.sliceExpr(e)
	case *ast.StarExpr:
		return f.load(f.loc(e))
	case *ast.UnaryExpr:
		return f.unary(e)
	case *ast.BinaryExpr:
		return f.binaryExpr(e)
	case *ast.CompositeLit:
		return f.composite(e, f.typeOf(e))
	case *ast.FuncLit:
		return single(f.typeOf(e), &closure{f: f, lit: e, typ: f.typeOf(e)})
	case *ast.TypeAssertExpr:
		r := f.typeAssert(e)
		if c := f.scalar(r[1]); c.IsConst(0) && !f.dead {
			f.fault("panic", "interface conversion")
		}
		return r[0]
	}
	f.errorf(e, "internal", fmt.Sprintf("an expression %T", e))
	return f.zeroOf(f.typeOf(e))
}

func (f *frame) ident(e *ast.Ident) val {
	obj := f.pkg.Info.Uses[e]
	switch obj := obj.(type) {
	case *types.Nil:
		return val{typ: types.Typ[types.UntypedNil]}
	case *types.Func:
		return f.funcValue(e, obj)
	case *types.Var:
		return f.load(f.loc(e))
	}
	f.errorf(e, "internal", "no value of "+e.Name)
	return f.zeroOf(f.typeOf(e))
}

// loc returns the location of an addressable expression or of the blank identifier.
func (f *frame) loc(e ast.Expr) loc {
	f.at(e)
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.loc(e.X)
	case *ast.Ident:
		return f.identLoc(e, e)
	case *ast.SelectorExpr:
		if s := f.pkg.Info.Selections[e]; s != nil {
			return f.fieldLoc(e, s.Index())
		}
		return f.identLoc(e, e.Sel)
	case *ast.IndexExpr:
		return f.indexLoc(e)
	case *ast.StarExpr:
		return f.deref(e, f.expr(e.X))
	case *ast.CompositeLit:
		t := f.typeOf(e)
		return f.whole(f.temp("literal", t, e.Pos(), tagLiteral, f.composite(e, t)))
	}
	// The value has no address, for example because it is the result of a call.
	v := f.expr(e)
	return f.whole(f.temp("value", v.typ, e.Pos(), tagTemp, v))
}

// identLoc returns the location of the variable that an identifier names. The identifier is the
// expression n, or the selector in it.
func (f *frame) identLoc(n ast.Expr, e *ast.Ident) loc {
	if e.Name == "_" {
		return loc{none: true, typ: types.Typ[types.Invalid]}
	}
	obj := f.pkg.Info.ObjectOf(e)
	if v := f.lookup(obj); v != nil {
		return f.whole(v)
	}
	if v, ok := obj.(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return f.packageVar(n, v)
	}
	return loc{none: true, typ: f.typeOf(e)} // an error has been reported
}

// deref returns the location that a pointer points to.
func (f *frame) deref(n ast.Node, p val) loc {
	pt, ok := under(p.typ).(*types.Pointer)
	if !ok || len(p.leaves) != 1 {
		return loc{none: true, typ: p.typ}
	}
	t := pt.Elem()
	switch x := p.leaves[0].(type) {
	case place:
		return loc{typ: t, v: x.v, off: x.off, none: x.v.refused}
	case *ir.Value:
		x = f.resolve(x)
		f.at(n)
		f.checkNil(x)
		return loc{typ: t, ptr: x, vec: f.vector[x]}
	}
	return loc{none: true, typ: t}
}

func (f *frame) checkNil(p *ir.Value) {
	if f.nonnil[p] || p.Op == ir.OpUndef {
		return
	}
	f.check("nil", "", f.cmp(ir.Ne, p, f.zero(p.Type)))
}

// addr returns a pointer to a location.
func (f *frame) addr(n ast.Node, x loc) leaf {
	switch {
	case x.none:
		return f.undef(ir.TPtr)
	case x.bits:
		f.errorf(n, "internal", "the address of a field of a number")
		return f.undef(ir.TPtr)
	case x.v != nil:
		return place{x.v, x.off}
	}
	p := f.ptrAdd(x.ptr, f.int(x.disp))
	f.nonnil[p] = true
	return p
}

func (f *frame) selector(e *ast.SelectorExpr) val {
	s := f.pkg.Info.Selections[e]
	if s == nil { // a qualified identifier
		switch obj := f.pkg.Info.Uses[e.Sel].(type) {
		case *types.Func:
			return f.funcValue(e.Sel, obj)
		case *types.Var:
			return f.load(f.identLoc(e, e.Sel))
		}
		f.errorf(e, "internal", "no value of "+e.Sel.Name)
		return f.zeroOf(f.typeOf(e))
	}
	switch s.Kind() {
	case types.MethodVal:
		return f.methodValue(e)
	case types.MethodExpr:
		return f.methodExpr(e, s)
	}
	return f.load(f.fieldLoc(e, s.Index()))
}

// fieldLoc follows a path of fields from the operand of a selector expression.
func (f *frame) fieldLoc(e *ast.SelectorExpr, path []int) loc {
	x := f.operand(e.X)
	for _, i := range path {
		x = f.field(e, x, i)
	}
	return x
}

// operand returns the location of a selector's operand. It does not dereference a pointer.
func (f *frame) operand(e ast.Expr) loc {
	if f.pkg.Info.Types[e].Addressable() {
		return f.loc(e)
	}
	v := f.expr(e)
	if v.from != nil {
		return *v.from
	}
	return f.whole(f.temp("value", v.typ, e.Pos(), tagTemp, v))
}

func (f *frame) field(n ast.Node, x loc, i int) loc {
	if _, ok := under(x.typ).(*types.Pointer); ok {
		x = f.deref(n, f.load(x))
	}
	s, ok := under(x.typ).(*types.Struct)
	if !ok || i >= s.NumFields() || x.none {
		return loc{none: true, typ: types.Typ[types.Int]}
	}
	t := s.Field(i).Type()
	lay := f.l.layout(x.typ)
	if lay.leaf != nil { // a number type of package num
		half := lay.leaf.mem == ir.MF16 || lay.leaf.mem == ir.MBF16
		r := x
		r.bits, r.half, r.typ = half, x.typ, t
		return r
	}
	if i >= len(lay.fields) {
		return loc{none: true, typ: t}
	}
	return x.part(t, lay.fields[i].first, lay.fields[i].offset)
}

func (f *frame) unary(e *ast.UnaryExpr) val {
	switch e.Op {
	case token.AND:
		t := f.typeOf(e)
		if c, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
			// Each evaluation creates a new variable.
			return single(t, f.addr(e, f.loc(c)))
		}
		return single(t, f.addr(e, f.loc(e.X)))
	case token.ARROW:
		f.errorf(e, "chan")
		return f.zeroOf(f.typeOf(e))
	}
	x := f.expr(e.X)
	f.at(e)
	t := f.typeOf(e)
	switch e.Op {
	case token.ADD:
		return x
	case token.NOT:
		return single(t, f.not(f.scalar(x)))
	case token.XOR:
		return single(t, f.narrow(f.op(ir.OpNot, f.scalar(x).Type, f.scalar(x)), t))
	}
	return f.negate(x, t)
}

func (f *frame) negate(x val, t types.Type) val {
	r := val{typ: t}
	for _, leaf := range x.leaves {
		v := f.value(leaf)
		if v.Type.Kind.IsFloat() {
			r.leaves = append(r.leaves, f.emit(ir.OpFNeg, v.Type, v))
		} else {
			r.leaves = append(r.leaves, f.narrow(f.sub(f.num(v.Type, 0), v), t))
		}
	}
	return r
}

// narrow extends a result to 32 bits after an operation on a narrower type.
func (f *frame) narrow(v *ir.Value, t types.Type) *ir.Value {
	lay := f.l.layout(t)
	if lay.leaf == nil {
		return v
	}
	return f.extend(v, lay.leaf.mem)
}

func (b *builder) extend(v *ir.Value, m ir.Mem) *ir.Value {
	switch m {
	case ir.MS8:
		return b.op(ir.OpSExt8, ir.TI32, v)
	case ir.MU8:
		return b.op(ir.OpZExt8, ir.TI32, v)
	case ir.MS16:
		return b.op(ir.OpSExt16, ir.TI32, v)
	case ir.MU16:
		return b.op(ir.OpZExt16, ir.TI32, v)
	}
	return v
}

// typeAssert evaluates x.(T). The dynamic type must be known at compile time.
func (f *frame) typeAssert(e *ast.TypeAssertExpr) []val {
	x := f.expr(e.X)
	t := f.typeOf(e.Type)
	b, ok := f.dynamic(e, x)
	boolean := types.Typ[types.Bool]
	if ok && b != nil && f.implements(b.v.typ, t) {
		r := b.v
		if types.IsInterface(t) {
			r = x
		}
		return []val{{typ: t, leaves: r.leaves, from: r.from, zero: r.zero}, single(boolean, f.bool(true))}
	}
	return []val{f.zeroOf(t), single(boolean, f.bool(false))}
}

// implements reports whether a value of dynamic type dyn matches a type switch case for t.
func (f *frame) implements(dyn, t types.Type) bool {
	if i, ok := under(t).(*types.Interface); ok {
		return types.Implements(dyn, i)
	}
	return types.Identical(dyn, t)
}

// boxed is the contents of an interface value.
type boxed struct{ v val }

// dynamic returns the contents of an interface value, or nil if it is nil. If the contents are not
// known at compile time, dynamic reports an error and returns false.
func (f *frame) dynamic(n ast.Node, x val) (*boxed, bool) {
	if len(x.leaves) != 1 {
		return nil, false
	}
	switch v := x.leaves[0].(type) {
	case *boxed:
		return v, true
	case nilLeaf, dead:
		return nil, true
	}
	f.errorf(n, unlessError(x.typ, "type-switch"))
	return nil, false
}

// unlessError returns the ID of a refusal. If t is the type error, it returns the ID whose advice
// is meant for functions that return errors.
func unlessError(t types.Type, id string) string {
	if types.Identical(t, types.Universe.Lookup("error").Type()) {
		return "error-known"
	}
	return id
}
