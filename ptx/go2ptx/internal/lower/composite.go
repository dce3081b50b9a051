package lower

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// composite evaluates a composite literal. Within another literal, t may be a pointer to the type
// of the literal.
func (f *frame) composite(e *ast.CompositeLit, t types.Type) val {
	switch u := under(t).(type) {
	case *types.Pointer:
		v := f.temp("literal", u.Elem(), e.Pos(), tagLiteral, f.composite(e, u.Elem()))
		return single(t, place{v, 0})
	case *types.Struct:
		return f.structLit(e, t, u)
	case *types.Array:
		return f.arrayLit(e, t, u.Elem(), u.Len())
	case *types.Slice:
		n := f.literalLen(e)
		at := types.NewArray(u.Elem(), n)
		v := f.temp("literal", at, e.Pos(), tagLiteral, f.arrayLit(e, at, u.Elem(), n))
		return val{typ: t, leaves: []leaf{place{v, 0}, f.int(n), f.int(n)}}
	case *types.Map:
		f.errorf(e, "map")
		return f.zeroOf(t)
	}
	f.errorf(e, "internal", "a literal of "+f.typeText(t))
	return f.zeroOf(t)
}

// literalElem evaluates an element of a composite literal. The element may itself be a literal
// whose type is omitted.
func (f *frame) literalElem(e ast.Expr, t types.Type) val {
	if c, ok := e.(*ast.CompositeLit); ok && c.Type == nil {
		f.at(c)
		return f.composite(c, t)
	}
	return f.convertTo(e, f.expr(e), t)
}

func (f *frame) structLit(e *ast.CompositeLit, t types.Type, s *types.Struct) val {
	lay := f.layoutAt(t, e.Pos())
	v := f.zeroOf(t)
	if lay.big() {
		return f.bigLit(e, t, func(x loc) { f.structFields(e, s, func(i int, r val) { f.store(f.field(e, x, i), r) }) })
	}
	if lay.leaf != nil { // a number type of package num
		f.structFields(e, s, func(i int, r val) {
			x := f.whole(f.temp("number", t, e.Pos(), tagLiteral, v))
			f.store(f.field(e, x, i), r)
			v = f.load(x)
		})
		return v
	}
	f.structFields(e, s, func(i int, r val) {
		if i < len(lay.fields) && lay.fields[i].first+len(r.leaves) <= len(v.leaves) {
			copy(v.leaves[lay.fields[i].first:], r.leaves)
		}
	})
	return v
}

func (f *frame) structFields(e *ast.CompositeLit, s *types.Struct, set func(i int, r val)) {
	f.fieldValues(e, s, func(i int, x ast.Expr) { set(i, f.literalElem(x, s.Field(i).Type())) })
}

// fieldValues calls visit for each field that a struct literal sets.
func (f *frame) fieldValues(e *ast.CompositeLit, s *types.Struct, visit func(i int, x ast.Expr)) {
	for i, x := range e.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			id, _ := kv.Key.(*ast.Ident)
			x = kv.Value
			for i = range s.NumFields() {
				if id != nil && s.Field(i).Name() == id.Name {
					break
				}
			}
		}
		if i < s.NumFields() {
			visit(i, x)
		}
	}
}

// bigLit builds a large literal in a variable instead of in registers.
func (f *frame) bigLit(e *ast.CompositeLit, t types.Type, fill func(loc)) val {
	x := f.whole(f.temp("literal", t, e.Pos(), tagCopy, f.zeroOf(t)))
	fill(x)
	return f.load(x)
}

func (f *frame) arrayLit(e *ast.CompositeLit, t, elem types.Type, n int64) val {
	lay := f.layoutAt(t, e.Pos())
	el := f.l.layout(elem)
	if lay.big() {
		a := under(t).(*types.Array)
		return f.bigLit(e, t, func(x loc) {
			f.arrayElems(e, elem, func(i int64, r val) { f.store(f.element(e, x, a, f.int(i)), r) })
		})
	}
	v := f.zeroOf(t)
	f.arrayElems(e, elem, func(i int64, r val) {
		if at := int(i) * el.leaves; i < n && at+len(r.leaves) <= len(v.leaves) {
			copy(v.leaves[at:], r.leaves)
		}
	})
	return v
}

func (f *frame) arrayElems(e *ast.CompositeLit, elem types.Type, set func(i int64, r val)) {
	f.elements(e, func(i int64, x ast.Expr) { set(i, f.literalElem(x, elem)) })
}

// elements calls visit for each element of an array or slice literal.
func (f *frame) elements(e *ast.CompositeLit, visit func(i int64, x ast.Expr)) {
	var i int64
	for _, x := range e.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			i = f.literalKey(kv)
			x = kv.Value
		}
		visit(i, x)
		i++
	}
}

func (f *frame) literalKey(kv *ast.KeyValueExpr) int64 {
	if c := f.pkg.Info.Types[kv.Key].Value; c != nil {
		i, _ := constant.Int64Val(constant.ToInt(c))
		return max(i, 0)
	}
	return 0
}

// literalLen returns the length of a slice literal.
func (f *frame) literalLen(e *ast.CompositeLit) int64 {
	var i, n int64
	for _, x := range e.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			i = f.literalKey(kv)
		}
		i++
		n = max(n, i)
	}
	return n
}
