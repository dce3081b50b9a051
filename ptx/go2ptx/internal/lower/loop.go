package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

func (f *frame) forStmt(s *ast.ForStmt, label types.Object) {
	outer := f.loop
	inside := &loop{outer}
	if s.Init != nil {
		f.loop = inside // each iteration has its own copy of the variables
		f.stmt(s.Init)
		f.loop = outer
	}
	head, body, cont, end := f.newBlock(), f.newBlock(), f.newBlock(), f.newBlock()
	f.jump(head)
	f.start(head)
	head.Unroll = f.l.prog.Unroll(s.For)
	f.loop = inside
	if s.Cond != nil {
		f.cond(s.Cond, body, end)
	} else {
		f.jump(body)
	}
	f.enter(body)
	f.inLoop(label, end, cont, func() { f.block(s.Body.List) })
	f.jump(cont)
	f.enter(cont)
	if s.Post != nil && !f.dead {
		f.stmt(s.Post)
	}
	f.jump(head)
	f.seal(head)
	f.loop = outer
	f.enter(end)
}

func (f *frame) inLoop(label types.Object, brk, cont *ir.Block, body func()) {
	f.ctl = &scope{outer: f.ctl, label: label, brk: brk, cont: cont}
	if !f.dead {
		body()
	}
	f.ctl = f.ctl.outer
}

func (f *frame) rangeStmt(s *ast.RangeStmt, label types.Object) {
	t := f.typeOf(s.X)
	switch u := under(t).(type) {
	case *types.Signature:
		f.rangeOverFunc(s, label)
	case *types.Basic:
		if isString(t) {
			f.rangeString(s, label)
			return
		}
		f.rangeInt(s, label)
	case *types.Slice:
		x := f.expr(s.X)
		if len(x.leaves) != 3 {
			return
		}
		f.count(s, label, f.value(x.leaves[1]), func(i *ir.Value) []val {
			r := []val{single(types.Typ[types.Int], i)}
			if hasValue(s) {
				r = append(r, f.load(f.sliceElement(x, u.Elem(), i, false)))
			}
			return r
		})
	case *types.Array:
		f.rangeArray(s, label, u)
	case *types.Pointer:
		if a, ok := under(u.Elem()).(*types.Array); ok {
			f.rangeArrayPointer(s, label, a)
		}
	case *types.Map:
		f.errorf(s, "map")
	case *types.Chan:
		f.errorf(s, "chan")
	default:
		f.errorf(s, "internal", "range over "+f.typeText(t))
	}
}

func hasValue(s *ast.RangeStmt) bool {
	id, ok := s.Value.(*ast.Ident)
	return s.Value != nil && (!ok || id.Name != "_")
}

func (f *frame) rangeInt(s *ast.RangeStmt, label types.Object) {
	x := f.expr(s.X)
	t := x.typ
	if isUntyped(t) {
		t = types.Typ[types.Int]
		x = f.convertTo(s, x, t)
	}
	if s.Key != nil { // if n is an untyped constant, the loop variable determines its type
		if kt := f.keyType(s); kt != nil && isInteger(kt) {
			t = kt
		}
	}
	n := f.convertInt(f.scalar(x), x.typ, f.l.layout(t).leaf.mem)
	f.countType(s, label, t, n, func(i *ir.Value) []val { return []val{single(t, i)} })
}

func (f *frame) keyType(s *ast.RangeStmt) types.Type {
	if id, ok := s.Key.(*ast.Ident); ok {
		if id.Name == "_" {
			return nil
		}
		if obj := f.pkg.Info.ObjectOf(id); obj != nil {
			return f.subst(obj.Type())
		}
	}
	return f.typeOf(s.Key)
}

func (f *frame) rangeArray(s *ast.RangeStmt, label types.Object, a *types.Array) {
	n := f.int(a.Len())
	index := func(i *ir.Value) []val { return []val{single(types.Typ[types.Int], i)} }
	if !hasValue(s) {
		// The operand is evaluated only if it contains calls. Otherwise its evaluation has no
		// effect.
		if hasCall(s.X) {
			f.expr(s.X)
		}
		f.count(s, label, n, index)
		return
	}
	x := f.operand(s.X)
	if !f.constantMemory(x) {
		// The loop iterates over a copy of the array.
		x = f.whole(f.temp("array", x.typ, s.X.Pos(), tagCopy, f.load(x)))
	}
	f.count(s, label, n, func(i *ir.Value) []val {
		nobounds := f.nobounds
		f.nobounds = true
		v := f.load(f.element(s, x, a, i))
		f.nobounds = nobounds
		return append(index(i), v)
	})
}

func (f *frame) constantMemory(x loc) bool { return x.ptr != nil && x.ptr.Type.Space == ir.Const }

func hasCall(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		found = found || call
		return !found
	})
	return found
}

func (f *frame) rangeArrayPointer(s *ast.RangeStmt, label types.Object, a *types.Array) {
	p := f.expr(s.X)
	var x loc
	if hasValue(s) && a.Len() > 0 {
		x = f.deref(s, p)
	}
	f.count(s, label, f.int(a.Len()), func(i *ir.Value) []val {
		r := []val{single(types.Typ[types.Int], i)}
		if hasValue(s) {
			nobounds := f.nobounds
			f.nobounds = true
			r = append(r, f.load(f.element(s, x, a, i)))
			f.nobounds = nobounds
		}
		return r
	})
}

// count emits a loop in which i takes the values from 0 to n-1.
func (f *frame) count(s *ast.RangeStmt, label types.Object, n *ir.Value, values func(i *ir.Value) []val) {
	f.countType(s, label, types.Typ[types.Int], n, values)
}

func (f *frame) countType(s *ast.RangeStmt, label types.Object, t types.Type, n *ir.Value, values func(i *ir.Value) []val) {
	zero := f.num(n.Type, 0)
	i := f.newVar("i", t, s.For, tagIter)
	f.store(f.whole(i), single(t, zero))
	head, body, cont, end := f.newBlock(), f.newBlock(), f.newBlock(), f.newBlock()
	f.jump(head)
	f.start(head)
	head.Unroll = f.l.prog.Unroll(s.For)
	outer := f.loop
	f.loop = &loop{outer}
	at := f.scalar(f.load(f.whole(i)))
	less := ir.ULt
	if isSigned(t) {
		less = ir.SLt
	}
	f.branch(f.cmp(less, at, n), body, end)
	f.enter(body)
	f.inLoop(label, end, cont, func() {
		f.assignRange(s, values(at))
		f.block(s.Body.List)
	})
	f.jump(cont)
	f.enter(cont)
	if !f.dead {
		f.at(s)
		f.store(f.whole(i), single(t, f.narrow(f.add(at, f.num(at.Type, 1)), t)))
	}
	f.jump(head)
	f.seal(head)
	f.loop = outer
	f.enter(end)
}

// assignRange assigns to the variables of a range statement.
func (f *frame) assignRange(s *ast.RangeStmt, values []val) {
	for i, e := range []ast.Expr{s.Key, s.Value} {
		if e == nil || i >= len(values) {
			continue
		}
		id, ok := e.(*ast.Ident)
		if ok && id.Name == "_" {
			continue
		}
		if s.Tok == token.DEFINE && ok {
			if obj := f.pkg.Info.Defs[id]; obj != nil {
				t := f.subst(obj.Type())
				f.declare(obj, t, f.convertTo(e, values[i], t))
			}
			continue
		}
		x := f.loc(e)
		f.store(x, f.convertTo(e, values[i], x.typ))
	}
}

// rangeString lowers a range over a constant string. It decodes the string with a table.
func (f *frame) rangeString(s *ast.RangeStmt, label types.Object) {
	text, ok := f.constText(f.expr(s.X))
	if !ok {
		f.errorf(s.X, "string-range")
		return
	}
	t := types.Typ[types.Int]
	i := f.newVar("i", t, s.For, tagIter)
	f.store(f.whole(i), single(t, f.int(0)))
	head, body, cont, end := f.newBlock(), f.newBlock(), f.newBlock(), f.newBlock()
	f.jump(head)
	f.start(head)
	head.Unroll = f.l.prog.Unroll(s.For)
	outer := f.loop
	f.loop = &loop{outer}
	at := f.scalar(f.load(f.whole(i)))
	f.branch(f.cmp(ir.SLt, at, f.int(int64(len(text)))), body, end)
	f.enter(body)
	var width *ir.Value
	if len(text) > 0 {
		p := f.ptrAdd(f.global(f.l.runeTable(text)), f.mul(at, f.int(8)))
		r := f.opAux(ir.OpLoad, ir.TI32, 0, p)
		width = f.opAux(ir.OpLoad, ir.TI32, 4, p)
		r.Mem, width.Mem = ir.M32, ir.M32
		f.inLoop(label, end, cont, func() {
			f.assignRange(s, []val{single(t, at), single(types.Typ[types.Int32], r)})
			f.block(s.Body.List)
		})
	}
	f.jump(cont)
	f.enter(cont)
	if width != nil {
		f.store(f.whole(i), single(t, f.add(at, f.wide(width, false))))
	}
	f.jump(head)
	f.seal(head)
	f.loop = outer
	f.enter(end)
}
