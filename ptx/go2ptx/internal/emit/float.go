package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

var roundNames = [...]string{"rn", "rz", "rm", "rp"}

// The instructions state the rounding mode explicitly. Without it, ptxas may fuse a multiplication
// and an addition.
var rounded = map[ir.Op]string{ir.OpFAdd: "add.", ir.OpFSub: "sub.", ir.OpFMul: "mul.", ir.OpFDiv: "div.", ir.OpFSqrt: "sqrt.", ir.OpFMA: "fma."}

func (x *fn) float(v *ir.Value) {
	switch v.Op {
	case ir.OpFCmp:
		x.compareFloats(v)
		return
	case ir.OpSToF, ir.OpUToF:
		x.intToFloat(v)
		return
	case ir.OpFToS, ir.OpFToU:
		x.floatToInt(v)
		return
	case ir.OpFConv:
		x.convert(v)
		return
	}
	if k := v.Type.Kind; k == ir.F16 || k == ir.BF16 {
		x.narrow(v)
		return
	}
	x.plainFloat(v, x.reg(v), v.Type.Kind, x.operands(v.Args))
}

func (x *fn) operands(args []*ir.Value) []build.Operand {
	out := make([]build.Operand, len(args))
	for i, a := range args {
		out[i] = x.operand(a)
	}
	return out
}

// plainFloat emits an f32 or f64 operation.
func (x *fn) plainFloat(v *ir.Value, r build.Reg, k ir.Kind, args []build.Operand) {
	t := floatTypes[k]
	switch v.Op {
	case ir.OpFNeg:
		x.op("neg."+t, r, args[0])
	case ir.OpFAbs:
		x.op("abs."+t, r, args[0])
	case ir.OpFMin:
		x.minMax("min", r, k, args)
	case ir.OpFMax:
		x.minMax("max", r, k, args)
	case ir.OpFInt:
		x.op("cvt."+intRounds[v.Aux]+"."+t+"."+t, r, x.inReg(k, args[0]))
	default:
		x.op(rounded[v.Op]+roundNames[v.Round]+"."+t, append([]build.Operand{r}, args...)...)
	}
}

// inReg returns the operand in a register, for instructions that do not accept immediates.
func (x *fn) inReg(k ir.Kind, o build.Operand) build.Reg {
	if r, ok := o.(build.Reg); ok {
		return r
	}
	r := x.temp(k)
	x.move(r, k, o)
	return r
}

var intRounds = [...]string{"rni", "rzi", "rmi", "rpi"}

// minMax emits Go's min or max, which return NaN if either operand is NaN. PTX's min and max return
// the other operand, except for the .NaN form of f32 in sm_80 and later. All of them treat -0 as
// less than +0.
func (x *fn) minMax(name string, r build.Reg, k ir.Kind, args []build.Operand) {
	t := floatTypes[k]
	if k == ir.F32 && x.m.arch >= 80 {
		x.op(name+".NaN.f32", r, args[0], args[1])
		return
	}
	m, p := x.temp(k), x.temp(ir.Bool)
	x.op(name+"."+t, m, args[0], args[1])
	x.op("setp.nan."+t, p, args[0], args[1])
	x.op("selp."+t, r, nan(k), m, p)
}

func nan(k ir.Kind) build.Operand {
	if k == ir.F32 {
		return build.F32Bits(0x7fffffff)
	}
	return build.F64Bits(0x7ff8000000000000)
}

var floatConds = map[ir.Cond]string{ir.Eq: "eq", ir.Ne: "neu", ir.FLt: "lt", ir.FLe: "le", ir.FGt: "gt", ir.FGe: "ge"}

func (x *fn) compareFloats(v *ir.Value) {
	name := "setp." + floatConds[ir.Cond(v.Aux)] + "."
	switch k := v.Args[0].Type.Kind; {
	case k == ir.F16 && x.m.arch >= 53:
		x.op(name+"f16", x.reg(v), x.reg(v.Args[0]), x.reg(v.Args[1]))
	case k == ir.F16 || k == ir.BF16:
		x.op(name+"f32", x.reg(v), x.widen(v.Args[0]), x.widen(v.Args[1]))
	default:
		x.op(name+floatTypes[k], x.reg(v), x.operand(v.Args[0]), x.operand(v.Args[1]))
	}
}

func (x *fn) intToFloat(v *ir.Value) {
	from := v.Args[0].Type.Kind
	t := signedTypes[from]
	if v.Op == ir.OpUToF {
		t = unsignedTypes[from]
	}
	src := x.reg(v.Args[0])
	switch k := v.Type.Kind; {
	case k == ir.BF16:
		d := x.temp(ir.F64)
		x.op("cvt.rz.f64."+t, d, src)
		if from == ir.I64 {
			back, p := x.temp(ir.I64), x.temp(ir.Bool)
			x.op("cvt.rzi."+t+".f64", back, d)
			x.op("setp.ne.s64", p, back, src)
			d = x.makeOdd(d, ir.F64, p)
		} else {
			d = x.temp(ir.F64)
			x.op("cvt.rn.f64."+t, d, src)
		}
		x.toBF16(x.reg(v), x.oddF32(d), v.Round)
	case k == ir.F16:
		x.op("cvt."+roundNames[v.Round]+".f16."+t, x.reg(v), src)
	default:
		x.op("cvt."+roundNames[v.Round]+"."+floatTypes[k]+"."+t, x.reg(v), src)
	}
}

// floatToInt emits a conversion that saturates, as PTX's cvt does. Go2ptx converts NaN to 0, but
// cvt does so only from f32 to 32-bit integers. For other types, GPUs return the smallest integer,
// so NaN is handled separately.
func (x *fn) floatToInt(v *ir.Value) {
	a, to := v.Args[0], v.Type.Kind
	from := a.Type.Kind
	src := x.inReg(from, x.operand(a))
	if from == ir.F16 || from == ir.BF16 {
		src, from = x.widen(a), ir.F32
	}
	t := signedTypes[to]
	if v.Op == ir.OpFToU {
		t = unsignedTypes[to]
	}
	name := "cvt." + intRounds[v.Aux] + "." + t + "." + floatTypes[from]
	if from == ir.F32 && to == ir.I32 {
		x.op(name, x.reg(v), src)
		return
	}
	i, p := x.temp(to), x.temp(ir.Bool)
	x.op(name, i, src)
	x.op("setp.nan."+floatTypes[from], p, src, src)
	x.op("selp."+bitTypes[to], x.reg(v), build.Int(0), i, p)
}

func (x *fn) convert(v *ir.Value) {
	a, to := v.Args[0], v.Type.Kind
	from, r := a.Type.Kind, x.reg(v)
	round := "cvt." + roundNames[v.Round] + "."
	switch {
	case from == to:
		x.move(r, to, x.operand(a))
	case from == ir.F32 && to == ir.F64:
		x.op("cvt.f64.f32", r, x.reg(a))
	case from == ir.F64 && to == ir.F32:
		x.op(round+"f32.f64", r, x.reg(a))
	case to == ir.F16 && from != ir.BF16:
		x.op(round+"f16."+floatTypes[from], r, x.reg(a))
	case to == ir.F16:
		x.op(round+"f16.f32", r, x.widen(a))
	case to == ir.BF16 && from == ir.F64:
		x.toBF16(r, x.oddF32(x.reg(a)), v.Round)
	case to == ir.BF16 && from == ir.F32:
		x.toBF16(r, x.reg(a), v.Round)
	case to == ir.BF16:
		x.toBF16(r, x.widen(a), v.Round)
	case to == ir.F32:
		x.widenTo(r, a)
	default:
		x.op("cvt.f64.f32", r, x.widen(a))
	}
}
