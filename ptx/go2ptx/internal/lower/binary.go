package lower

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

func intConst(n int64) constant.Value { return constant.MakeInt64(n) }

func basicInfo(t types.Type) types.BasicInfo {
	if b, ok := under(t).(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

func isSigned(t types.Type) bool {
	i := basicInfo(t)
	return i&types.IsInteger != 0 && i&types.IsUnsigned == 0
}

func isInteger(t types.Type) bool { return basicInfo(t)&types.IsInteger != 0 }
func isFloat(t types.Type) bool   { return basicInfo(t)&types.IsFloat != 0 }
func isComplex(t types.Type) bool { return basicInfo(t)&types.IsComplex != 0 }
func isString(t types.Type) bool  { return basicInfo(t)&types.IsString != 0 }

func (f *frame) binaryExpr(e *ast.BinaryExpr) val {
	switch e.Op {
	case token.LAND, token.LOR:
		return f.shortCircuit(e)
	case token.SHL, token.SHR:
		x := f.convertTo(e, f.expr(e.X), f.typeOf(e))
		return f.shift(e, e.Op, x, f.expr(e.Y), e.Y)
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return f.compareExpr(e)
	}
	t := f.typeOf(e)
	x := f.convertTo(e.X, f.expr(e.X), t)
	y := f.convertTo(e.Y, f.expr(e.Y), t)
	f.at(e)
	f.atPos(e.OpPos)
	return f.binary(e, e.Op, x, y, t)
}

func (f *frame) shortCircuit(e *ast.BinaryExpr) val {
	boolean := types.Typ[types.Bool]
	r := f.temp("cond", boolean, e.OpPos, tagPhi, single(boolean, f.bool(e.Op == token.LOR)))
	rest, end := f.newBlock(), f.newBlock()
	if e.Op == token.LAND {
		f.cond(e.X, rest, end)
	} else {
		f.cond(e.X, end, rest)
	}
	f.enter(rest)
	if !f.dead {
		f.store(f.whole(r), single(boolean, f.scalar(f.expr(e.Y))))
	}
	f.jump(end)
	f.enter(end)
	return single(f.typeOf(e), f.read2(r, 0))
}

// binary lowers an arithmetic operator whose operands have type t.
func (f *frame) binary(n ast.Node, op token.Token, x, y val, t types.Type) val {
	switch {
	case isString(t):
		f.errorf(n, "string-build")
		return f.zeroOf(t)
	case isComplex(t):
		return f.complexOp(op, x, y, t)
	case len(x.leaves) != 1 || len(y.leaves) != 1:
		return f.zeroOf(t) // an error has been reported
	}
	a, b := f.scalar(x), f.scalar(y)
	if a.Type != b.Type {
		return f.zeroOf(t)
	}
	if isFloat(t) {
		return single(t, f.op(floatOps[op], a.Type, a, b))
	}
	if !isInteger(t) {
		f.errorf(n, "internal", "no operator "+op.String()+" for "+f.typeText(t))
		return f.zeroOf(t)
	}
	return single(t, f.intOp(op, a, b, t))
}

var floatOps = map[token.Token]ir.Op{token.ADD: ir.OpFAdd, token.SUB: ir.OpFSub, token.MUL: ir.OpFMul, token.QUO: ir.OpFDiv}
var intOps = map[token.Token]ir.Op{token.ADD: ir.OpAdd, token.SUB: ir.OpSub, token.MUL: ir.OpMul, token.AND: ir.OpAnd, token.OR: ir.OpOr, token.XOR: ir.OpXor}

func (f *frame) intOp(op token.Token, x, y *ir.Value, t types.Type) *ir.Value {
	signed := isSigned(t)
	switch op {
	case token.ADD, token.SUB, token.MUL:
		return f.narrow(f.op(intOps[op], x.Type, x, y), t)
	case token.AND, token.OR, token.XOR:
		return f.op(intOps[op], x.Type, x, y)
	case token.AND_NOT:
		return f.op(ir.OpAnd, x.Type, x, f.op(ir.OpNot, y.Type, y))
	}
	f.check("divide", "", f.cmp(ir.Ne, y, f.num(y.Type, 0)))
	switch {
	case op == token.QUO && signed:
		return f.narrow(f.op(ir.OpSDiv, x.Type, x, y), t) // -128 / -1 is -128
	case op == token.QUO:
		return f.op(ir.OpUDiv, x.Type, x, y)
	case signed:
		return f.op(ir.OpSRem, x.Type, x, y)
	}
	return f.op(ir.OpURem, x.Type, x, y)
}

// shift lowers a shift. The type of the count may differ from that of x.
func (f *frame) shift(n ast.Node, op token.Token, x, count val, countExpr ast.Expr) val {
	t := x.typ
	if len(x.leaves) != 1 || len(count.leaves) != 1 || !isInteger(t) {
		return f.zeroOf(t)
	}
	f.at(n)
	v, c := f.scalar(x), f.scalar(count)
	if isSigned(count.typ) && c.Op != ir.OpConst {
		f.check("shift", "", f.cmp(ir.SGe, c, f.num(c.Type, 0)), f.wide(c, true))
	}
	if c.Type == ir.TI64 {
		if c.Op == ir.OpConst {
			c = f.int32(int64(min(uint64(c.Aux), 64)))
		} else {
			c = f.op(ir.OpTrunc, ir.TI32, f.op(ir.OpUMin, ir.TI64, c, f.int(64)))
		}
	}
	switch {
	case op == token.SHL:
		return single(t, f.narrow(f.op(ir.OpShl, v.Type, v, c), t))
	case isSigned(t):
		return single(t, f.op(ir.OpAShr, v.Type, v, c))
	}
	return single(t, f.op(ir.OpLShr, v.Type, v, c))
}

// wide extends an integer to 64 bits, according to its signedness.
func (b *builder) wide(v *ir.Value, signed bool) *ir.Value {
	switch {
	case v.Type == ir.TI64:
		return v
	case v.Type != ir.TI32:
		return b.int(0) // an error has been reported
	case signed:
		return b.op(ir.OpSExt32, ir.TI64, v)
	}
	return b.op(ir.OpZExt32, ir.TI64, v)
}

func (f *frame) compareExpr(e *ast.BinaryExpr) val {
	x, y := f.expr(e.X), f.expr(e.Y)
	xt, yt := x.typ, y.typ
	switch {
	case isNil(xt) || isUntyped(xt) && !isUntyped(yt):
		x = f.convertTo(e, x, yt)
	case isNil(yt) || isUntyped(yt) && !isUntyped(xt):
		y = f.convertTo(e, y, xt)
	case types.IsInterface(xt) && !types.IsInterface(yt):
		y = f.convertTo(e, y, xt)
	case types.IsInterface(yt) && !types.IsInterface(xt):
		x = f.convertTo(e, x, yt)
	}
	f.at(e)
	f.atPos(e.OpPos)
	r := f.compare(e, e.Op, x, y)
	return single(f.typeOf(e), r)
}

func isNil(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Kind() == types.UntypedNil
}

func isUntyped(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0
}

// compare lowers a comparison of two values of the same type.
func (f *frame) compare(n ast.Node, op token.Token, x, y val) *ir.Value {
	switch {
	case op == token.EQL:
		return f.equal(n, x, y)
	case op == token.NEQ:
		return f.not(f.equal(n, x, y))
	case isString(x.typ):
		return f.orderStrings(n, op, x, y)
	case len(x.leaves) != 1 || len(y.leaves) != 1:
		return f.bool(false)
	}
	a, b := f.scalar(x), f.scalar(y)
	switch {
	case a.Type != b.Type:
		return f.bool(false) // an error has been reported
	case isFloat(x.typ):
		return f.fcmp(floatConds[op], a, b)
	case isSigned(x.typ):
		return f.cmp(signedConds[op], a, b)
	}
	return f.cmp(unsignedConds[op], a, b)
}

var floatConds = map[token.Token]ir.Cond{token.LSS: ir.FLt, token.LEQ: ir.FLe, token.GTR: ir.FGt, token.GEQ: ir.FGe}
var signedConds = map[token.Token]ir.Cond{token.LSS: ir.SLt, token.LEQ: ir.SLe, token.GTR: ir.SGt, token.GEQ: ir.SGe}
var unsignedConds = map[token.Token]ir.Cond{token.LSS: ir.ULt, token.LEQ: ir.ULe, token.GTR: ir.UGt, token.GEQ: ir.UGe}

// equal reports whether two values of the same comparable type are equal.
func (f *frame) equal(n ast.Node, x, y val) *ir.Value {
	t := x.typ
	switch u := under(t).(type) {
	case *types.Struct:
		if f.l.layout(t).leaf != nil {
			break
		}
		r := f.bool(true)
		lay := f.l.layout(t)
		for i := range u.NumFields() {
			if u.Field(i).Name() != "_" {
				fl := lay.fields[i]
				ft := u.Field(i).Type()
				r = f.and(r, f.equal(n, f.component(x, ft, fl.first, fl.offset), f.component(y, ft, fl.first, fl.offset)))
			}
		}
		return r
	case *types.Array:
		lay := f.l.layout(t)
		if lay.big() {
			f.errorf(n, "array-compare")
			return f.bool(false)
		}
		r := f.bool(true)
		for i := range int(u.Len()) {
			at, off := i*lay.elem.leaves, int64(i)*lay.elem.size
			r = f.and(r, f.equal(n, f.component(x, u.Elem(), at, off), f.component(y, u.Elem(), at, off)))
		}
		return r
	case *types.Slice: // a slice can only be compared with nil
		if len(x.leaves) == 3 && len(y.leaves) == 3 {
			return f.equalLeaf(n, t, x.leaves[0], y.leaves[0])
		}
	}
	if isString(t) {
		return f.equalStrings(n, x, y)
	}
	r := f.bool(true)
	for i := range min(len(x.leaves), len(y.leaves)) {
		r = f.and(r, f.equalLeaf(n, t, x.leaves[i], y.leaves[i]))
	}
	return r
}

func (f *frame) equalLeaf(n ast.Node, t types.Type, x, y leaf) *ir.Value {
	xp, xIsPlace := x.(place)
	yp, yIsPlace := y.(place)
	switch {
	case xIsPlace && yIsPlace:
		// Go leaves open whether pointers to distinct zero-size variables are equal.
		return f.bool(xp == yp)
	case xIsPlace && isNullPointer(y), yIsPlace && isNullPointer(x):
		return f.bool(false)
	}
	_, xRegister := x.(*ir.Value)
	_, yRegister := y.(*ir.Value)
	if xRegister || yRegister || xIsPlace || yIsPlace {
		a, b := f.value(x), f.value(y)
		switch {
		case a.Type.Kind != b.Type.Kind:
			return f.bool(false) // an error has been reported
		case a.Type.Kind == ir.F16 || a.Type.Kind == ir.BF16: // package num compares the bits
			return f.cmp(ir.Eq, f.op(ir.OpBitcast, ir.TI32, a), f.op(ir.OpBitcast, ir.TI32, b))
		case a.Type.Kind.IsFloat():
			return f.fcmp(ir.Eq, a, b)
		case a.Type.Kind == ir.Ptr && (b.Op == ir.OpConst && f.nonnil[a] || a.Op == ir.OpConst && f.nonnil[b]):
			return f.bool(false)
		}
		return f.cmp(ir.Eq, a, b)
	}
	return f.equalStatic(n, t, x, y)
}

// equalStatic compares functions with nil and interfaces with each other, at compile time.
func (f *frame) equalStatic(n ast.Node, t types.Type, x, y leaf) *ir.Value {
	_, xNil := x.(nilLeaf)
	_, yNil := y.(nilLeaf)
	xb, xBoxed := x.(*boxed)
	yb, yBoxed := y.(*boxed)
	_, xMixed := x.(mixed)
	_, yMixed := y.(mixed)
	switch {
	case xMixed || yMixed:
		f.errorf(n, unlessError(t, "func-known"))
		return f.bool(false)
	case xNil || yNil:
		return f.bool(xNil && yNil)
	case xBoxed && yBoxed:
		if !types.Identical(xb.v.typ, yb.v.typ) {
			return f.bool(false)
		}
		return f.equal(n, xb.v, yb.v)
	}
	return f.bool(x == y)
}

func isNullPointer(x leaf) bool {
	v, ok := x.(*ir.Value)
	return ok && v.IsConst(0)
}
