package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// narrow emits an f16 or bf16 operation. If the target does not support it, the operation is
// computed in f32 and the result rounded again. The double rounding is harmless because f32 has at
// least 2p+2 bits of precision, where p is the precision of the narrow type. That does not hold for
// fma, which is computed in f64.
func (x *fn) narrow(v *ir.Value) {
	r, k := x.reg(v), v.Type.Kind
	switch {
	case v.Op == ir.OpFNeg:
		x.op("xor.b16", r, x.reg(v.Args[0]), build.Int(0x8000))
	case v.Op == ir.OpFAbs:
		x.op("and.b16", r, x.reg(v.Args[0]), build.Int(0x7fff))
	case v.Round != ir.RN && v.Op != ir.OpFInt:
		x.fail("%s of %s rounds to nearest only", v.Op, k)
	case x.native(v):
		args := []build.Operand{r}
		for _, a := range v.Args {
			args = append(args, x.reg(a))
		}
		x.op(rounded[v.Op]+"rn."+k.String(), args...)
	case v.Op == ir.OpFMA:
		x.narrowFMA(v)
	default:
		args := make([]build.Operand, len(v.Args))
		for i, a := range v.Args {
			args[i] = x.widen(a)
		}
		f := x.temp(ir.F32)
		x.plainFloat(v, f, ir.F32, args)
		x.round(r, k, f)
	}
}

// native reports whether the target has an instruction for the operation.
func (x *fn) native(v *ir.Value) bool {
	add := v.Op == ir.OpFAdd || v.Op == ir.OpFSub || v.Op == ir.OpFMul
	switch v.Type.Kind {
	case ir.F16:
		return x.m.arch >= 53 && (add || v.Op == ir.OpFMA)
	case ir.BF16:
		return x.m.arch >= 90 && add || x.m.arch >= 80 && v.Op == ir.OpFMA
	}
	return false
}

// widen converts an f16 or bf16 value to f32.
func (x *fn) widen(v *ir.Value) build.Reg {
	f := x.temp(ir.F32)
	x.widenTo(f, v)
	return f
}

func (x *fn) widenTo(f build.Reg, v *ir.Value) {
	h := x.reg(v)
	if v.Type.Kind == ir.F16 {
		x.op("cvt.f32.f16", f, h)
		return
	}
	t := x.temp(ir.I32)
	x.op("cvt.u32.u16", t, h)
	x.op("shl.b32", f, t, build.Int(16))
}

func (x *fn) round(r build.Reg, k ir.Kind, f build.Reg) {
	if k == ir.F16 {
		x.op("cvt.rn.f16.f32", r, f)
	} else {
		x.toBF16(r, f, ir.RN)
	}
}

// toBF16 converts an f32 value to bf16. Targets before sm_80 have no such instruction, so integer
// arithmetic does it: adding 0x7fff plus the lowest bit that is kept carries into the upper half
// exactly if the value rounds up.
func (x *fn) toBF16(r, f build.Reg, round ir.Round) {
	if round > ir.RZ {
		x.fail("a conversion to bf16 rounds to nearest or to zero")
		return
	}
	if x.m.arch >= 80 {
		x.op("cvt."+roundNames[round]+".bf16.f32", r, f)
		return
	}
	u := x.temp(ir.I32)
	x.bf16Bits(u, f, round)
	x.op("cvt.u16.u32", r, u)
}

// bf16Bits computes the bits of an f32 value that is rounded to bf16.
func (x *fn) bf16Bits(r, f build.Reg, round ir.Round) {
	u, p := f, x.temp(ir.Bool)
	if round == ir.RN {
		low := x.temp(ir.I32)
		u = x.temp(ir.I32)
		x.op("shr.u32", low, f, build.Int(16))
		x.op("and.b32", low, low, build.Int(1))
		x.op("add.s32", u, f, low)
		x.op("add.s32", u, u, build.Int(0x7fff))
	}
	high := x.temp(ir.I32)
	x.op("shr.u32", high, u, build.Int(16))
	x.op("setp.nan.f32", p, f, f)
	x.op("selp.b32", r, build.Int(0x7fff), high, p)
}

// oddF32 converts an f64 value to f32 with rounding to odd: if the result is inexact, its last bit
// is 1. Rounding the result to a narrower type is then the same as rounding the f64 value directly.
func (x *fn) oddF32(d build.Reg) build.Reg {
	f, back, p := x.temp(ir.F32), x.temp(ir.F64), x.temp(ir.Bool)
	x.op("cvt.rz.f32.f64", f, d)
	x.op("cvt.f64.f32", back, f)
	x.op("setp.neu.f64", p, back, d)
	return x.makeOdd(f, ir.F32, p)
}

// makeOdd completes rounding to odd: it sets the last bit of f, which was rounded toward zero, if
// inexact is true.
func (x *fn) makeOdd(f build.Reg, k ir.Kind, inexact build.Reg) build.Reg {
	ints := ir.I32
	if k == ir.F64 {
		ints = ir.I64
	}
	odd, out := x.temp(ints), x.temp(k)
	t := bitTypes[ints]
	x.op("selp."+t, odd, build.Int(1), build.Int(0), inexact)
	x.op("or."+t, out, f, odd)
	return out
}

// narrowFMA emits a fused multiply-add for f16 or bf16 in f64, where the product is exact. For f16,
// the sum is either exact or so far from a rounding boundary that rounding it twice is harmless.
// For bf16, the sum is rounded to odd.
func (x *fn) narrowFMA(v *ir.Value) {
	var d [3]build.Reg
	for i, a := range v.Args {
		d[i] = x.temp(ir.F64)
		x.op("cvt.f64.f32", d[i], x.widen(a))
	}
	sum := x.temp(ir.F64)
	if v.Type.Kind == ir.F16 {
		x.op("fma.rn.f64", sum, d[0], d[1], d[2])
		x.op("cvt.rn.f16.f64", x.reg(v), sum)
		return
	}
	up, down, p := x.temp(ir.F64), x.temp(ir.F64), x.temp(ir.Bool)
	x.op("fma.rz.f64", sum, d[0], d[1], d[2])
	x.op("fma.rp.f64", up, d[0], d[1], d[2])
	x.op("fma.rm.f64", down, d[0], d[1], d[2])
	x.op("setp.neu.f64", p, up, down)
	odd := x.makeOdd(sum, ir.F64, p)
	x.toBF16(x.reg(v), x.oddF32(odd), ir.RN)
}
