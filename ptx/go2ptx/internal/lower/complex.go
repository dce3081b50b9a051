package lower

import (
	"go/token"
	"go/types"
	"math"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// complexOp lowers complex arithmetic. Like Go's compiler, it computes in float64 even for
// complex64.
func (f *frame) complexOp(op token.Token, x, y val, t types.Type) val {
	if len(x.leaves) != 2 || len(y.leaves) != 2 {
		return f.zeroOf(t)
	}
	a, b, c, d := f.value(x.leaves[0]), f.value(x.leaves[1]), f.value(y.leaves[0]), f.value(y.leaves[1])
	reg := a.Type
	var re, im *ir.Value
	switch op {
	case token.ADD:
		re, im = f.emit(ir.OpFAdd, reg, a, c), f.emit(ir.OpFAdd, reg, b, d)
	case token.SUB:
		re, im = f.emit(ir.OpFSub, reg, a, c), f.emit(ir.OpFSub, reg, b, d)
	default:
		a, b, c, d = f.toF64(a), f.toF64(b), f.toF64(c), f.toF64(d)
		if op == token.MUL {
			re = f.f64(ir.OpFSub, f.f64(ir.OpFMul, a, c), f.f64(ir.OpFMul, b, d))
			im = f.f64(ir.OpFAdd, f.f64(ir.OpFMul, a, d), f.f64(ir.OpFMul, b, c))
		} else {
			re, im = f.divideComplex(a, b, c, d)
		}
		if reg != ir.TF64 {
			re, im = f.op(ir.OpFConv, reg, re), f.op(ir.OpFConv, reg, im)
		}
	}
	return val{typ: t, leaves: []leaf{re, im}}
}

func (b *builder) toF64(v *ir.Value) *ir.Value {
	if v.Type == ir.TF64 {
		return v
	}
	return b.op(ir.OpFConv, ir.TF64, v)
}

func (b *builder) f64(op ir.Op, args ...*ir.Value) *ir.Value { return b.emit(op, ir.TF64, args...) }

func (b *builder) f64Const(x float64) *ir.Value {
	return b.f.Const(ir.TF64, int64(math.Float64bits(x)))
}

// divideComplex divides a+bi by c+di with Smith's method (Algorithm 116), which scales by the
// larger part of the divisor. If the result is NaN, it then applies the corrections of C99's Annex
// G, as Go does.
func (b *builder) divideComplex(a, bi, c, d *ir.Value) (re, im *ir.Value) {
	abs := func(x *ir.Value) *ir.Value { return b.f64(ir.OpFAbs, x) }
	mul := func(x, y *ir.Value) *ir.Value { return b.f64(ir.OpFMul, x, y) }
	plus := func(x, y *ir.Value) *ir.Value { return b.f64(ir.OpFAdd, x, y) }
	minus := func(x, y *ir.Value) *ir.Value { return b.f64(ir.OpFSub, x, y) }
	first := b.fcmp(ir.FGe, abs(c), abs(d))
	big, small := b.sel(first, c, d), b.sel(first, d, c)
	ratio := b.f64(ir.OpFDiv, small, big)
	denom := plus(big, mul(ratio, small))
	x, y := b.sel(first, a, bi), b.sel(first, bi, a)
	re = b.f64(ir.OpFDiv, plus(x, mul(y, ratio)), denom)
	im = b.f64(ir.OpFDiv, b.sel(first, minus(bi, mul(a, ratio)), minus(mul(bi, ratio), a)), denom)

	nan := func(x *ir.Value) *ir.Value { return b.fcmp(ir.Ne, x, x) }
	inf := b.f64Const(math.Inf(1))
	isInf := func(x *ir.Value) *ir.Value { return b.fcmp(ir.Eq, abs(x), inf) }
	finite := func(x *ir.Value) *ir.Value { return b.fcmp(ir.FLt, abs(x), inf) }
	or := func(x, y *ir.Value) *ir.Value { return b.op(ir.OpOr, ir.TBool, x, y) }
	sign := func(x, s *ir.Value) *ir.Value { // copysign(x, s)
		bits := b.op(ir.OpBitcast, ir.TI64, s)
		return b.sel(b.cmp(ir.SLt, bits, b.int(0)), b.f64(ir.OpFNeg, x), x)
	}
	unit := func(x *ir.Value) *ir.Value {
		return sign(b.sel(isInf(x), b.f64Const(1), b.f64Const(0)), x)
	}
	odd := b.and(nan(re), nan(im))
	zero := b.f64Const(0)
	dividesByZero := b.and(b.and(b.fcmp(ir.Eq, c, zero), b.fcmp(ir.Eq, d, zero)), b.not(b.and(nan(a), nan(bi))))
	infinite := b.and(or(isInf(a), isInf(bi)), b.and(finite(c), finite(d)))
	vanishes := b.and(or(isInf(c), isInf(d)), b.and(finite(a), finite(bi)))
	signed := sign(inf, c)
	ua, ub, uc, ud := unit(a), unit(bi), unit(c), unit(d)
	pick := func(normal, byZero, large, small *ir.Value) *ir.Value {
		r := b.sel(vanishes, small, normal)
		r = b.sel(infinite, large, r)
		r = b.sel(dividesByZero, byZero, r)
		return b.sel(odd, r, normal)
	}
	re = pick(re, mul(signed, a), mul(inf, plus(mul(ua, c), mul(ub, d))), mul(zero, plus(mul(a, uc), mul(bi, ud))))
	im = pick(im, mul(signed, bi), mul(inf, minus(mul(ub, c), mul(ua, d))), mul(zero, minus(mul(bi, uc), mul(a, ud))))
	return re, im
}

func (f *frame) convertComplex(v val, t types.Type) val {
	if len(v.leaves) != 2 {
		return f.zeroOf(t)
	}
	part := f.l.layout(t).fields[0].leaf.typ
	from := f.l.layout(v.typ).fields[0].leaf.typ
	r := val{typ: t}
	for _, x := range v.leaves {
		r.leaves = append(r.leaves, f.convertNumber(f.value(x), from, part))
	}
	return r
}
