package lower

import (
	"go/ast"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

func (f *frame) indexExpr(e *ast.IndexExpr) val {
	if tv := f.pkg.Info.Types[e.X]; tv.IsType() {
		return f.zeroOf(f.typeOf(e))
	}
	if _, ok := under(f.typeOf(e.X)).(*types.Signature); ok { // an instance of a generic function
		return f.expr(e.X)
	}
	return f.load(f.indexLoc(e))
}

// indexValue evaluates an index and extends it to 64 bits.
func (f *frame) indexValue(e ast.Expr) *ir.Value {
	v := f.expr(e)
	if len(v.leaves) != 1 {
		return f.int(0)
	}
	return f.wide(f.scalar(v), isSigned(v.typ) || isUntyped(v.typ))
}

// indexLoc returns the location of x[i].
func (f *frame) indexLoc(e *ast.IndexExpr) loc {
	t := f.typeOf(e)
	xt := under(f.typeOf(e.X))
	if p, ok := xt.(*types.Pointer); ok {
		x := f.expr(e.X)
		i := f.indexValue(e.Index)
		f.at(e)
		a, ok := under(p.Elem()).(*types.Array)
		if !ok {
			return loc{none: true, typ: t}
		}
		return f.element(e, f.deref(e, x), a, i)
	}
	switch u := xt.(type) {
	case *types.Array:
		x := f.operand(e.X)
		i := f.indexValue(e.Index)
		f.at(e)
		return f.element(e, x, u, i)
	case *types.Slice:
		x := f.expr(e.X)
		i := f.indexValue(e.Index)
		f.at(e)
		return f.sliceElement(x, u.Elem(), i, true)
	case *types.Basic:
		x := f.expr(e.X)
		i := f.indexValue(e.Index)
		f.at(e)
		if len(x.leaves) == 2 {
			n := f.value(x.leaves[1])
			f.checkIndex(i, n)
			return loc{typ: t, ptr: f.ptrAdd(f.value(x.leaves[0]), i)}
		}
	case *types.Map:
		f.errorf(e, "map")
	}
	return loc{none: true, typ: t}
}

func (f *frame) checkIndex(i, n *ir.Value) {
	if !f.nobounds {
		f.check("index", "", f.cmp(ir.ULt, i, n), i, n)
	}
}

// element returns the location of an array element.
func (f *frame) element(n ast.Node, x loc, a *types.Array, i *ir.Value) loc {
	if x.none {
		return loc{none: true, typ: a.Elem()}
	}
	f.checkIndex(i, f.int(a.Len()))
	e := f.l.layout(a.Elem())
	if i.Op == ir.OpConst {
		if i.Aux < 0 || i.Aux >= a.Len() {
			return loc{none: true, typ: a.Elem()} // the bounds check always fails
		}
		return x.part(a.Elem(), int(i.Aux)*e.leaves, i.Aux*e.size)
	}
	if f.l.layout(a).static() {
		f.errorf(n, "func-known")
		return loc{none: true, typ: a.Elem()}
	}
	if e.leaves == 0 {
		return x.part(a.Elem(), 0, 0)
	}
	p, disp := f.address(x)
	q := f.ptrAdd(p, f.mul(i, f.int(e.size)))
	f.nonnil[q] = true
	return loc{typ: a.Elem(), ptr: q, disp: disp}
}

// sliceElement returns the location of a slice element.
func (f *frame) sliceElement(x val, elem types.Type, i *ir.Value, check bool) loc {
	if len(x.leaves) != 3 {
		return loc{none: true, typ: elem}
	}
	if check {
		f.checkIndex(i, f.value(x.leaves[1]))
	}
	e := f.l.layout(elem)
	if p, ok := x.leaves[0].(place); ok && i.Op == ir.OpConst {
		off := p.off + int(i.Aux)*e.leaves
		if i.Aux < 0 || i.Aux > int64(p.v.lay.leaves) || off+e.leaves > p.v.lay.leaves {
			return loc{none: true, typ: elem}
		}
		return loc{typ: elem, v: p.v, off: off, none: p.v.refused}
	}
	q := f.ptrAdd(f.value(x.leaves[0]), f.mul(i, f.int(e.size)))
	f.nonnil[q] = true
	return loc{typ: elem, ptr: q}
}

// sliceExpr lowers x[low:high:max].
func (f *frame) sliceExpr(e *ast.SliceExpr) val {
	t := f.typeOf(e)
	ptr, length, capacity, elem := f.sliced(e)
	if capacity == nil {
		return f.zeroOf(t)
	}
	low, high, most := f.int(0), length, capacity
	if e.Low != nil {
		low = f.indexValue(e.Low)
	}
	if e.High != nil {
		high = f.indexValue(e.High)
	}
	if e.Max != nil {
		most = f.indexValue(e.Max)
	}
	f.at(e)
	if !f.nobounds {
		if e.Max != nil {
			f.check("slice", "", f.cmp(ir.ULe, most, capacity), low, most, capacity)
		}
		if e.High != nil || e.Max != nil {
			f.check("slice", "", f.cmp(ir.ULe, high, most), low, high, most)
		}
		if e.Low != nil {
			f.check("slice", "", f.cmp(ir.ULe, low, high), low, high, most)
		}
	}
	size := f.l.layout(elem)
	r := val{typ: t, leaves: []leaf{f.advance(ptr, low, size), f.sub(high, low)}}
	if isString(t) {
		return r
	}
	r.leaves = append(r.leaves, f.sub(most, low))
	return r
}

// advance returns the address of element i.
func (f *frame) advance(ptr leaf, i *ir.Value, e *layout) leaf {
	if i.IsConst(0) || e.size == 0 {
		return ptr
	}
	switch p := ptr.(type) {
	case place:
		if i.Op == ir.OpConst && i.Aux >= 0 && i.Aux <= int64(p.v.lay.leaves) && p.off+int(i.Aux)*e.leaves <= p.v.lay.leaves {
			return place{p.v, p.off + int(i.Aux)*e.leaves}
		}
	case constString:
		if i.Op == ir.OpConst && i.Aux >= 0 && i.Aux <= int64(len(p)) {
			return p[i.Aux:]
		}
	}
	return f.ptrAdd(f.value(ptr), f.mul(i, f.int(e.size)))
}

// sliced evaluates the operand of a slice expression.
func (f *frame) sliced(e *ast.SliceExpr) (ptr leaf, length, capacity *ir.Value, elem types.Type) {
	xt := under(f.typeOf(e.X))
	if p, ok := xt.(*types.Pointer); ok {
		if a, ok := under(p.Elem()).(*types.Array); ok {
			x := f.deref(e, f.expr(e.X))
			x.vec = false
			return f.addr(e, x), f.int(a.Len()), f.int(a.Len()), a.Elem()
		}
	}
	switch u := xt.(type) {
	case *types.Array:
		return f.addr(e, f.loc(e.X)), f.int(u.Len()), f.int(u.Len()), u.Elem()
	case *types.Slice:
		if x := f.expr(e.X); len(x.leaves) == 3 {
			return x.leaves[0], f.value(x.leaves[1]), f.value(x.leaves[2]), u.Elem()
		}
	case *types.Basic:
		if x := f.expr(e.X); len(x.leaves) == 2 {
			n := f.value(x.leaves[1])
			return x.leaves[0], n, n, types.Typ[types.Uint8]
		}
	}
	return nil, nil, nil, nil
}
