package vm

import (
	"math"

	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx"
)

// Floating-point arithmetic in f32 and f64 (op_float_narrow.go covers f16 and bf16).

func init() {
	register(lowerUnaryFloat, "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh")
	register(lowerTestp, "testp")
	register(lowerCopysign, "copysign")
}

func isFloat(t ptx.Type) bool { return t.Kind() == ptx.KindFloat }

func isHalf(t ptx.Type) bool {
	switch t {
	case ptx.F16, ptx.F16x2, ptx.BF16, ptx.BF16x2:
		return true
	}
	return false
}

// Loops for the most frequent instructions: f32, rounded to nearest, without .ftz and .sat.
// Explicit conversions prevent the compiler from fusing operations.

//go:norace
//go:nocheckptr
func execAddF32(w *warp, in *inst, m uint32) {
	d, a, b := col[float32](w, in.d), col[float32](w, in.a), col[float32](w, in.b)
	if m == full {
		for i := 0; i < lanes; i += 4 {
			d[i] = softfloat.Canonical(a[i] + b[i])
			d[i+1] = softfloat.Canonical(a[i+1] + b[i+1])
			d[i+2] = softfloat.Canonical(a[i+2] + b[i+2])
			d[i+3] = softfloat.Canonical(a[i+3] + b[i+3])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = softfloat.Canonical(a[i] + b[i])
	}
}

//go:norace
//go:nocheckptr
func execSubF32(w *warp, in *inst, m uint32) {
	d, a, b := col[float32](w, in.d), col[float32](w, in.a), col[float32](w, in.b)
	if m == full {
		for i := range d {
			d[i] = softfloat.Canonical(a[i] - b[i])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = softfloat.Canonical(a[i] - b[i])
	}
}

//go:norace
//go:nocheckptr
func execMulF32(w *warp, in *inst, m uint32) {
	d, a, b := col[float32](w, in.d), col[float32](w, in.a), col[float32](w, in.b)
	if m == full {
		for i := 0; i < lanes; i += 4 {
			d[i] = softfloat.Canonical(a[i] * b[i])
			d[i+1] = softfloat.Canonical(a[i+1] * b[i+1])
			d[i+2] = softfloat.Canonical(a[i+2] * b[i+2])
			d[i+3] = softfloat.Canonical(a[i+3] * b[i+3])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = softfloat.Canonical(a[i] * b[i])
	}
}

//go:norace
//go:nocheckptr
func execDivF32(w *warp, in *inst, m uint32) {
	d, a, b := col[float32](w, in.d), col[float32](w, in.a), col[float32](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = softfloat.Canonical(a[i] / b[i])
	}
}

// execFmaF32 is fma.rn.f32. See softfloat.FMAF32 for why the result is correctly rounded.
//
//go:norace
//go:nocheckptr
func execFmaF32(w *warp, in *inst, m uint32) {
	d, a, b, c := col[float32](w, in.d), col[float32](w, in.a), col[float32](w, in.b), col[float32](w, in.c)
	if m == full {
		for i := range d {
			s := float64(float64(a[i])*float64(b[i])) + float64(c[i])
			if softfloat.RoundsTwice(s) {
				d[i] = softfloat.Canonical(float32(softfloat.FMAOdd(float64(a[i]), float64(b[i]), float64(c[i]))))
			} else {
				d[i] = float32(s)
			}
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = softfloat.FMAF32(a[i], b[i], c[i])
	}
}

//go:norace
//go:nocheckptr
func execFmaF64(w *warp, in *inst, m uint32) {
	d, a, b, c := col[float64](w, in.d), col[float64](w, in.a), col[float64](w, in.b), col[float64](w, in.c)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		x, y, z := a[i], b[i], c[i]
		if d[i] = math.FMA(x, y, z); d[i] != d[i] {
			d[i] = nanOf(nanOrNumber(x, z), y)
		}
	}
}

// tiny reports whether x, rounded with an unlimited exponent range, is below the smallest normal
// number in magnitude. x must be exact or rounded to odd.
func tiny(x float64, r rounding) bool {
	return math.Abs(float64(softfloat.ToF32(x*0x1p64, r))) < smallest32*0x1p64
}

// mode32 builds a binary f32 instruction from op and from the form's rounding, .ftz and .sat.
func mode32(f *form, op func(a, b float32, r rounding) float32) execFunc {
	r, ftz, sat := f.rounding(), f.has(flagFtz), f.has(flagSat)
	tiny := tiny32(f.op.Name, r)
	return lane2(func(a, b float32) float32 {
		if ftz {
			a, b = flush(a), flush(b)
		}
		x := op(a, b, r)
		if ftz && math.Abs(float64(x)) == smallest32 && tiny(a, b) {
			x = float32(math.Copysign(0, float64(x)))
		}
		return finish32(x, ftz, sat)
	})
}

const smallest32 = 0x1p-126

// tiny32 returns a function for operands whose result equals the smallest normal number. The
// function reports whether the result would be smaller with an unlimited exponent range. In that
// case, .ftz flushes it.
func tiny32(op string, r rounding) func(a, b float32) bool {
	switch op {
	case "mul":
		return func(a, b float32) bool { return tiny(float64(a)*float64(b), r) }
	case "div":
		return func(a, b float32) bool { return tiny(softfloat.DivOdd(float64(a), float64(b)), r) }
	}
	return func(a, b float32) bool { return false } // a sum of normal numbers in this range is exact
}

func finish32(x float32, ftz, sat bool) float32 {
	if ftz {
		x = flush(x)
	}
	if sat {
		x = saturate(x)
	}
	return x
}

// rounding returns the rounding mode. The default is to nearest.
func (f *form) rounding() rounding {
	if f.round == roundNone {
		return roundRN
	}
	return f.round
}

func (f *form) plain() bool { return f.rounding() == roundRN && f.flags&^flagFull == 0 }

func (l *lowerer) floatBinary(i *ptx.Instr, f *form) {
	t := f.typ()
	if isHalf(t) || len(f.types) == 2 {
		l.halfBinary(i, f)
		return
	}
	if f.round > roundRP || len(f.types) != 1 || !f.only(flagFtz|flagSat|flagApprox|flagFull) {
		l.unsupported()
		return
	}
	switch t {
	case ptx.F32:
		l.simple2(i, t, binaryF32(f))
	case ptx.F64:
		l.simple2(i, t, binaryF64(f))
	case ptx.F32x2:
		l.simple2(i, t, pairF32(f))
	default:
		l.unsupported()
	}
}

func binaryF32(f *form) execFunc {
	switch f.op.Name {
	case "add":
		if f.plain() {
			return execAddF32
		}
		return mode32(f, softfloat.AddF32)
	case "sub":
		if f.plain() {
			return execSubF32
		}
		return mode32(f, func(a, b float32, r rounding) float32 { return softfloat.AddF32(a, -b, r) })
	case "mul":
		if f.plain() {
			return execMulF32
		}
		return mode32(f, softfloat.MulF32)
	case "div":
		if f.has(flagApprox) {
			return mode32(f, softfloat.DivApprox)
		}
		if f.plain() {
			return execDivF32
		}
		return mode32(f, softfloat.DivF32)
	}
	return nil
}

func binaryF64(f *form) execFunc {
	if f.flags != 0 {
		return nil
	}
	r := f.rounding()
	rn := r == roundRN
	switch f.op.Name {
	case "add":
		if rn {
			return execAddF64
		}
		return binary64(func(a, b float64) float64 { return softfloat.AddF64(a, b, r) })
	case "sub":
		if rn {
			return execSubF64
		}
		return binary64(func(a, b float64) float64 { return softfloat.AddF64(a, -b, r) })
	case "mul":
		if rn {
			return execMulF64
		}
		return binary64(func(a, b float64) float64 { return softfloat.MulF64(a, b, r) })
	case "div":
		return lane2(func(a, b float64) float64 {
			q := softfloat.DivF64(a, b, r)
			if q != q {
				return nanOf(b, a) // if both operands are NaNs, a division returns the dividend
			}
			return q
		})
	}
	return nil
}

// pairF32 returns the execFunc for an .f32x2 operation, which computes two f32 values in 64 bits.
// If there is no such operation, it returns nil.
func pairF32(f *form) execFunc {
	r, ftz, sat := f.rounding(), f.has(flagFtz), f.has(flagSat)
	op := map[string]func(a, b float32) float32{
		"add": func(a, b float32) float32 { return softfloat.AddF32(a, b, r) },
		"sub": func(a, b float32) float32 { return softfloat.AddF32(a, -b, r) },
		"mul": func(a, b float32) float32 { return softfloat.MulF32(a, b, r) },
	}[f.op.Name]
	if op == nil {
		return nil
	}
	tiny := tiny32(f.op.Name, r)
	one := func(a, b uint32) uint64 {
		x, y := math.Float32frombits(a), math.Float32frombits(b)
		if ftz {
			x, y = flush(x), flush(y)
		}
		z := op(x, y)
		if ftz && math.Abs(float64(z)) == smallest32 && tiny(x, y) {
			z = float32(math.Copysign(0, float64(z)))
		}
		return uint64(math.Float32bits(finish32(z, ftz, sat)))
	}
	return lane2(func(a, b uint64) uint64 {
		return one(uint32(a), uint32(b)) | one(uint32(a>>32), uint32(b>>32))<<32
	})
}

func lowerFma(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	if !l.args(i, 4, 4) {
		return
	}
	if isHalf(t) || len(f.types) > 1 {
		l.halfFma(i, f)
		return
	}
	if f.round > roundRP || len(f.types) != 1 || !f.only(flagFtz|flagSat) {
		l.unsupported()
		return
	}
	r, ftz, sat := f.rounding(), f.has(flagFtz), f.has(flagSat)
	one := func(a, b, c float32) float32 {
		if ftz {
			a, b, c = flush(a), flush(b), flush(c)
		}
		x := softfloat.FMAF32Mode(a, b, c, r)
		if ftz && math.Abs(float64(x)) == smallest32 && tiny(softfloat.FMAOdd(float64(a), float64(b), float64(c)), r) {
			x = float32(math.Copysign(0, float64(x)))
		}
		return finish32(x, ftz, sat)
	}
	switch {
	case t == ptx.F32 && f.plain():
		l.simple3(i, t, execFmaF32)
	case t == ptx.F32:
		l.simple3(i, t, lane3(one))
	case t == ptx.F64 && f.plain():
		l.simple3(i, t, execFmaF64)
	case t == ptx.F64 && f.flags == 0:
		l.simple3(i, t, lane3(func(a, b, c float64) float64 {
			x := softfloat.FMAF64(a, b, c, r)
			if x != x {
				return nanOf(nanOrNumber(a, c), b)
			}
			return x
		}))
	case t == ptx.F32x2:
		half := func(a, b, c uint64, sh uint) uint64 {
			v := one(math.Float32frombits(uint32(a>>sh)), math.Float32frombits(uint32(b>>sh)), math.Float32frombits(uint32(c>>sh)))
			return uint64(math.Float32bits(v)) << sh
		}
		l.simple3(i, t, lane3(func(a, b, c uint64) uint64 { return half(a, b, c, 0) | half(a, b, c, 32) }))
	default:
		l.unsupported()
	}
}
