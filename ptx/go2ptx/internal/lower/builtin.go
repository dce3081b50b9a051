package lower

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

func (f *frame) builtin(e *ast.CallExpr, fun ast.Expr) []val {
	name := ""
	switch x := fun.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		f.errorf(e, "unsafe", x.Sel.Name)
		return f.zeros(e)
	}
	one := func(x leaf) []val { return []val{single(f.typeOf(e), x)} }
	switch name {
	case "len", "cap":
		return one(f.length(e, name))
	case "min", "max":
		return []val{f.minMax(e, name)}
	case "copy":
		return one(f.copyBuiltin(e))
	case "clear":
		f.clearBuiltin(e)
		return nil
	case "panic":
		f.panicBuiltin(e)
		return nil
	case "new":
		return []val{f.newBuiltin(e)}
	case "make":
		return []val{f.makeBuiltin(e)}
	case "complex":
		t := f.typeOf(e)
		part := f.l.layout(t).fields[0].leaf.typ
		v := f.values(e.Args, 2)
		return []val{{typ: t, leaves: []leaf{f.convertTo(e, v[0], part).one(), f.convertTo(e, v[1], part).one()}}}
	case "real", "imag":
		v := f.expr(e.Args[0])
		if len(v.leaves) != 2 {
			return f.zeros(e)
		}
		return one(v.leaves[map[string]int{"imag": 1}[name]])
	case "append":
		f.errorf(e, "append")
	case "recover":
		f.errorf(e, "recover")
	case "delete":
		f.errorf(e, "map")
	case "close":
		f.errorf(e, "chan")
	default: // print and println
		f.errorf(e, "builtin", name)
	}
	return f.zeros(e)
}

func (f *frame) length(e *ast.CallExpr, name string) leaf {
	t := under(f.typeOf(e.Args[0]))
	if p, ok := t.(*types.Pointer); ok {
		t = under(p.Elem())
	}
	if a, ok := t.(*types.Array); ok {
		if hasCall(e.Args[0]) {
			f.expr(e.Args[0])
		}
		return f.int(a.Len())
	}
	v := f.expr(e.Args[0])
	f.at(e)
	switch i := map[string]int{"len": 1, "cap": 2}[name]; {
	case i < len(v.leaves):
		return v.leaves[i]
	default:
		f.errorf(e, "type", f.typeText(v.typ), refusedType(v.typ))
	}
	return f.int(0)
}

func (f *frame) minMax(e *ast.CallExpr, name string) val {
	t := f.typeOf(e)
	if isString(t) {
		f.errorf(e, "string-build")
		return f.zeroOf(t)
	}
	var r *ir.Value
	for _, a := range e.Args {
		v := f.convertTo(a, f.expr(a), t)
		if len(v.leaves) != 1 {
			return f.zeroOf(t)
		}
		x := f.scalar(v)
		if r == nil {
			r = x
			continue
		}
		f.at(e)
		switch {
		case isFloat(t):
			r = f.emit(map[string]ir.Op{"min": ir.OpFMin, "max": ir.OpFMax}[name], r.Type, r, x)
		case isSigned(t):
			r = f.op(map[string]ir.Op{"min": ir.OpSMin, "max": ir.OpSMax}[name], r.Type, r, x)
		default:
			r = f.op(map[string]ir.Op{"min": ir.OpUMin, "max": ir.OpUMax}[name], r.Type, r, x)
		}
	}
	return single(t, r)
}

func (f *frame) copyBuiltin(e *ast.CallExpr) leaf {
	v := f.values(e.Args, 2)
	s, ok := under(v[0].typ).(*types.Slice)
	if !ok || len(v[0].leaves) != 3 || len(v[1].leaves) < 2 {
		return f.int(0)
	}
	f.at(e)
	n := f.op(ir.OpSMin, ir.TI64, f.value(v[0].leaves[1]), f.value(v[1].leaves[1]))
	if f.l.layout(s.Elem()).size > 0 {
		f.copyElems(n, v[0], v[1], s.Elem())
	}
	return n
}

func (f *frame) clearBuiltin(e *ast.CallExpr) {
	v := f.expr(e.Args[0])
	s, ok := under(v.typ).(*types.Slice)
	if !ok || len(v.leaves) != 3 {
		f.errorf(e, "map")
		return
	}
	lay := f.l.layout(s.Elem())
	if lay.size == 0 {
		return
	}
	p := f.value(v.leaves[0])
	f.repeatValue(f.value(v.leaves[1]), func(i *ir.Value) {
		f.store(loc{typ: s.Elem(), ptr: f.ptrAdd(p, f.mul(i, f.int(lay.size)))}, f.zeroOf(s.Elem()))
	})
}

func (f *frame) panicBuiltin(e *ast.CallExpr) {
	message, ok := "", false
	if c := f.pkg.Info.Types[e.Args[0]].Value; c != nil {
		message, ok = c.ExactString(), true
		if c.Kind() == constant.String {
			message = constant.StringVal(c)
		}
	} else {
		v := f.expr(e.Args[0])
		if b, isBoxed := first(v.leaves).(*boxed); isBoxed {
			v = b.v
		}
		if isString(v.typ) {
			message, ok = f.constText(v)
		}
	}
	if !ok {
		f.errorf(e, "panic-value")
	}
	f.at(e)
	f.fault("panic", message)
}

func first(list []leaf) leaf {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func (f *frame) newBuiltin(e *ast.CallExpr) val {
	t := f.typeOf(e)
	p, ok := under(t).(*types.Pointer)
	if !ok {
		return f.zeroOf(t)
	}
	init := f.zeroOf(p.Elem())
	if tv := f.pkg.Info.Types[e.Args[0]]; !tv.IsType() { // new(x), since Go 1.26
		init = f.convertTo(e, f.expr(e.Args[0]), p.Elem())
	}
	return single(t, place{f.temp("new", p.Elem(), e.Pos(), tagNew, init), 0})
}

// makeBuiltin lowers make for slices of constant size. The elements are a local variable.
func (f *frame) makeBuiltin(e *ast.CallExpr) val {
	t := f.typeOf(e)
	s, ok := under(t).(*types.Slice)
	if !ok {
		f.errorf(e, map[token.Token]string{token.MAP: "map", token.CHAN: "chan"}[makes(under(t))])
		return f.zeroOf(t)
	}
	sizes := make([]*ir.Value, 2)
	for i, a := range e.Args[1:] {
		if i < 2 {
			sizes[i] = f.indexValue(a)
		}
	}
	n, c := sizes[0], sizes[1]
	if c == nil {
		c = n
	}
	const most = 1 << 19 // bytes of local memory per thread
	if n == nil || n.Op != ir.OpConst || c.Op != ir.OpConst || n.Aux < 0 || c.Aux < n.Aux ||
		c.Aux > most || c.Aux*max(f.l.layout(s.Elem()).size, 1) > most {
		f.errorf(e, "cap-make")
		return f.zeroOf(t)
	}
	at := types.NewArray(s.Elem(), c.Aux)
	v := f.temp("make", at, e.Pos(), tagNew, f.zeroOf(at))
	return val{typ: t, leaves: []leaf{place{v, 0}, n, c}}
}

func makes(t types.Type) token.Token {
	if _, ok := t.(*types.Map); ok {
		return token.MAP
	}
	return token.CHAN
}
