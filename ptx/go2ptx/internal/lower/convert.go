package lower

import (
	"go/ast"
	"go/constant"
	"go/types"
	"math"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// constant returns a constant of type t.
func (f *frame) constant(n ast.Node, t types.Type, c constant.Value) val {
	lay := f.layoutAt(t, n.Pos())
	switch {
	case types.IsInterface(t):
		return f.box(f.constant(n, types.Default(constType(c)), c), t)
	case isString(t):
		if c.Kind() != constant.String {
			return f.zeroOf(t)
		}
		s := constant.StringVal(c)
		return val{typ: t, leaves: []leaf{constString(s), f.int(int64(len(s)))}}
	case isComplex(t):
		re, im := constant.Real(c), constant.Imag(c)
		reg := lay.fields[0].leaf.regType()
		return val{typ: t, leaves: []leaf{f.floatConst(reg, re), f.floatConst(reg, im)}}
	case lay.leaf == nil:
		return f.zeroOf(t)
	}
	reg := lay.leaf.regType()
	switch {
	case c.Kind() == constant.Bool:
		return single(t, f.bool(constant.BoolVal(c)))
	case reg.Kind.IsFloat():
		return single(t, f.floatConst(reg, constant.ToFloat(c)))
	case reg.Kind.IsInt():
		i := constant.ToInt(c)
		x, ok := constant.Int64Val(i)
		if !ok {
			u, _ := constant.Uint64Val(i)
			x = int64(u)
		}
		return single(t, f.num(reg, x))
	}
	return f.zeroOf(t)
}

// constType returns the untyped type of a constant.
func constType(c constant.Value) types.Type {
	switch c.Kind() {
	case constant.Bool:
		return types.Typ[types.UntypedBool]
	case constant.String:
		return types.Typ[types.UntypedString]
	case constant.Int:
		return types.Typ[types.UntypedInt]
	case constant.Float:
		return types.Typ[types.UntypedFloat]
	}
	return types.Typ[types.UntypedComplex]
}

func (b *builder) floatConst(t ir.Type, c constant.Value) *ir.Value {
	c = constant.ToFloat(c)
	if t == ir.TF32 {
		x, _ := constant.Float32Val(c)
		return b.f.Const(t, int64(math.Float32bits(x)))
	}
	x, _ := constant.Float64Val(c)
	return b.f.Const(t, int64(math.Float64bits(x)))
}

// box converts a value to an interface.
func (f *frame) box(v val, t types.Type) val {
	if isUntyped(v.typ) {
		v.typ = types.Default(v.typ)
	}
	return single(t, &boxed{v})
}

// convertTo converts a value to a type that it is assignable to.
func (f *frame) convertTo(n ast.Node, v val, t types.Type) val {
	switch {
	case isNil(v.typ):
		return f.zeroOf(t)
	case types.IsInterface(t) && !types.IsInterface(v.typ):
		return f.box(v, t)
	case v.from != nil || v.zero:
		v.typ = t
		return v
	}
	if lay := f.l.layout(t); len(v.leaves) != lay.leaves {
		return f.zeroOf(t) // an error has been reported
	}
	return val{typ: t, leaves: v.leaves}
}

// conversion lowers a conversion T(x).
func (f *frame) conversion(call *ast.CallExpr) val {
	t := f.typeOf(call)
	arg := call.Args[0]
	if tv := f.pkg.Info.Types[arg]; tv.Value != nil && !types.IsInterface(t) {
		// The conversion of a constant to a type parameter is not itself a constant.
		if basicInfo(t)&types.IsConstType != 0 && (!isString(t) || tv.Value.Kind() == constant.String) {
			return f.constant(call, t, f.representable(tv.Value, t))
		}
	}
	v := f.expr(arg)
	f.at(call)
	return f.convert(call, v, t)
}

// representable converts a constant to a form that type t, the value of a type parameter, can
// represent.
func (f *frame) representable(c constant.Value, t types.Type) constant.Value {
	if isInteger(t) {
		return constant.ToInt(c)
	}
	return c
}

// convert lowers an explicit conversion.
func (f *frame) convert(n ast.Node, v val, t types.Type) val {
	from := v.typ
	switch {
	case isNil(from), types.IsInterface(t):
		return f.convertTo(n, v, t)
	case isComplex(t) && isComplex(from):
		return f.convertComplex(v, t)
	case isInteger(t) && isInteger(from), isInteger(t) && isFloat(from), isFloat(t) && isInteger(from), isFloat(t) && isFloat(from):
		if len(v.leaves) != 1 {
			return f.zeroOf(t)
		}
		return single(t, f.convertNumber(f.scalar(v), from, t))
	case isString(t) && isString(from):
		return f.convertTo(n, v, t)
	case isString(t), isString(from):
		f.errorf(n, "string-build")
		return f.zeroOf(t)
	}
	if s, ok := under(from).(*types.Slice); ok {
		switch u := under(t).(type) {
		case *types.Pointer:
			return single(t, f.arrayPointer(n, v, s, under(u.Elem())))
		case *types.Array:
			p := f.arrayPointer(n, v, s, u)
			x := f.deref(n, single(types.NewPointer(t), p))
			x.vec = false // a conversion to an array does not promise any alignment
			return f.load(x)
		}
	}
	if b, ok := under(t).(*types.Basic); ok && b.Kind() == types.UnsafePointer {
		f.errorf(n, "unsafe", "Pointer")
		return f.zeroOf(t)
	}
	return f.convertTo(n, v, t)
}

func (f *frame) convertNumber(v *ir.Value, from, t types.Type) *ir.Value {
	to := f.l.layout(t).leaf
	reg := to.regType()
	switch {
	case isInteger(from) && isInteger(t):
		return f.convertInt(v, from, to.mem)
	case isInteger(from):
		op := ir.OpUToF
		if isSigned(from) {
			op = ir.OpSToF
		}
		return f.op(op, reg, v)
	case isInteger(t):
		return f.floatToInt(v, to.mem, isSigned(t))
	case v.Type == reg:
		return f.op(ir.OpPin, reg, v)
	}
	return f.op(ir.OpFConv, reg, v)
}

func (b *builder) convertInt(v *ir.Value, from types.Type, to ir.Mem) *ir.Value {
	switch {
	case to.Type() == v.Type:
	case to.Type() == ir.TI64:
		return b.wide(v, isSigned(from))
	default:
		v = b.op(ir.OpTrunc, ir.TI32, v)
	}
	return b.extend(v, to)
}

// floatToInt converts a float to an integer. It saturates, and converts NaN to 0.
func (b *builder) floatToInt(v *ir.Value, to ir.Mem, signed bool) *ir.Value {
	op := ir.OpFToU
	if signed {
		op = ir.OpFToS
	}
	r := b.opAux(op, to.Type(), int64(ir.RZ), v)
	clamp := func(low, high int64) *ir.Value {
		if low < 0 {
			return b.op(ir.OpSMax, ir.TI32, b.op(ir.OpSMin, ir.TI32, r, b.int32(high)), b.int32(low))
		}
		return b.op(ir.OpUMin, ir.TI32, r, b.int32(high))
	}
	switch to {
	case ir.MS8:
		return clamp(math.MinInt8, math.MaxInt8)
	case ir.MU8:
		return clamp(0, math.MaxUint8)
	case ir.MS16:
		return clamp(math.MinInt16, math.MaxInt16)
	case ir.MU16:
		return clamp(0, math.MaxUint16)
	}
	return r
}

// arrayPointer lowers a conversion of a slice to a pointer to an array.
func (f *frame) arrayPointer(n ast.Node, v val, s *types.Slice, to types.Type) leaf {
	a, ok := to.(*types.Array)
	if !ok || len(v.leaves) != 3 {
		return f.undef(ir.TPtr)
	}
	length := f.value(v.leaves[1])
	if !f.nobounds {
		f.check("convert", "", f.cmp(ir.SLe, f.int(a.Len()), length), length, f.int(a.Len()))
	}
	if p, ok := v.leaves[0].(place); ok {
		if p.off+f.l.layout(a).leaves > p.v.lay.leaves {
			return f.undef(ir.TPtr) // the check always fails
		}
		return p
	}
	p := f.value(v.leaves[0])
	if a.Len() == 0 || p.Op == ir.OpUndef {
		return p
	}
	// The converted pointer must be aligned, but the slice's own pointer need not be, so the
	// converted pointer is a separate value.
	q := f.emit(ir.OpPtrAdd, p.Type, p, f.int(0))
	f.nonnil[q] = true
	f.vector[q] = true
	if f.nobounds {
		f.trusted[q] = true
	}
	if h, ok := f.home[p]; ok {
		f.home[q] = h
	}
	return q
}
