package vm

import (
	"math"

	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx"
)

type minmax struct {
	max, nan, xorsign, abs bool
}

func (f *form) minmax() minmax {
	mm := minmax{max: f.op.Name == "max", nan: f.has(flagNaN), abs: f.has(flagAbs)}
	for _, r := range f.rest {
		mm.xorsign = mm.xorsign || r == "xorsign"
	}
	return mm
}

func (o minmax) of64(a, b float64) float64 {
	neg := math.Signbit(a) != math.Signbit(b)
	if o.xorsign {
		a, b = math.Abs(a), math.Abs(b)
	}
	var r float64
	switch {
	case a != a && b != b, o.nan && (a != a || b != b):
		return math.NaN()
	case a != a:
		r = b
	case b != b:
		r = a
	case o.max:
		r = math.Max(a, b)
	default:
		r = math.Min(a, b)
	}
	if o.xorsign && neg {
		r = -r
	}
	return r
}

func (o minmax) f32bits(a, b uint32) uint32 {
	x, y := float64(math.Float32frombits(a)), float64(math.Float32frombits(b))
	if o.abs {
		x, y = math.Abs(x), math.Abs(y)
	}
	return math.Float32bits(narrow32(o.of64(x, y)))
}

// canonicalNaN is the NaN that f32 instructions produce.
const canonicalNaN = 0x7fffffff

// narrow32 converts x, which must be representable in f32. A NaN becomes the canonical NaN.
func narrow32(x float64) float32 {
	if x != x {
		return math.Float32frombits(canonicalNaN)
	}
	return float32(x)
}

func (l *lowerer) floatMinMax(i *ptx.Instr, f *form) {
	t := f.typ()
	if isHalf(t) {
		l.halfMinMax(i, f)
		return
	}
	for _, r := range f.rest {
		if r != "xorsign" {
			l.unsupported()
			return
		}
	}
	mm, ftz := f.minmax(), f.has(flagFtz)
	fl := func(x float32) float32 {
		if ftz {
			return flush(x)
		}
		return x
	}
	switch {
	case t == ptx.F32 && len(i.Args) == 3 && f.flags == 0 && len(f.rest) == 0:
		l.simple2(i, t, lane2(minMaxF32(mm.max)))
	case t == ptx.F32 && len(i.Args) == 3:
		l.simple2(i, t, lane2(func(a, b float32) float32 { return narrow32(mm.of64(float64(fl(a)), float64(fl(b)))) }))
	case t == ptx.F32:
		l.simple3(i, t, lane3(func(a, b, c float32) float32 {
			return narrow32(mm.of64(mm.of64(float64(fl(a)), float64(fl(b))), float64(fl(c))))
		}))
	case t == ptx.F64 && len(i.Args) == 3 && f.flags == 0:
		l.simple2(i, t, binary64(mm.of64))
	default:
		l.unsupported()
	}
}

// minMaxF32 is min or max without modifiers.
func minMaxF32(isMax bool) func(a, b float32) float32 {
	pick := func(a, b float32) float32 { // for operands that are equal, or of which one is a NaN
		switch {
		case a == b && isMax == math.Signbit(float64(a)):
			return b
		case a == b:
			return a
		case a != a && b != b:
			return math.Float32frombits(canonicalNaN)
		case a != a:
			return b
		}
		return a
	}
	if isMax {
		return func(a, b float32) float32 {
			switch {
			case a > b:
				return a
			case b > a:
				return b
			}
			return pick(a, b)
		}
	}
	return func(a, b float32) float32 {
		switch {
		case a < b:
			return a
		case b < a:
			return b
		}
		return pick(a, b)
	}
}

func (l *lowerer) floatAbsNeg(i *ptx.Instr, f *form) {
	t := f.typ()
	neg := f.op.Name == "neg"
	if isHalf(t) {
		l.halfAbsNeg(i, f)
		return
	}
	var exec execFunc
	ftz := f.has(flagFtz)
	switch {
	case !f.only(flagFtz):
	case t == ptx.F32 && ftz:
		exec = lane1(func(a float32) float32 {
			if neg {
				return softfloat.Canonical(-flush(a))
			}
			return softfloat.Canonical(float32(math.Abs(float64(flush(a)))))
		})
	case t == ptx.F32 && neg:
		exec = lane1(func(a uint32) uint32 { return canonical32(a ^ 1<<31) })
	case t == ptx.F32:
		exec = lane1(func(a uint32) uint32 { return canonical32(a &^ (1 << 31)) })
	case t == ptx.F64 && neg:
		exec = unary64(func(a float64) float64 { return -a })
	case t == ptx.F64:
		exec = unary64(math.Abs)
	}
	if exec == nil {
		l.unsupported()
		return
	}
	a := l.src(i.Args[1], t)
	l.emit(exec, l.dst(i.Args[0], t), a)
}

func lowerUnaryFloat(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	if !l.args(i, 2, 2) || f.round > roundRP || !f.only(flagFtz|flagApprox) {
		l.unsupported()
		return
	}
	if isHalf(t) {
		l.halfUnary(i, f)
		return
	}
	var exec execFunc
	switch t {
	case ptx.F32:
		exec = unaryF32(f)
	case ptx.F64:
		exec = unaryF64(f)
	}
	if exec == nil {
		l.unsupported()
		return
	}
	a := l.src(i.Args[1], t)
	l.emit(exec, l.dst(i.Args[0], t), a)
}

func unaryF32(f *form) execFunc {
	ftz, r := f.has(flagFtz), f.rounding()
	fn := softfloat.Function(f.op.Name)
	op := func(x float32) float32 { return narrow32(fn(float64(x))) }
	if !f.has(flagApprox) {
		switch f.op.Name {
		case "rcp":
			op = func(x float32) float32 { return softfloat.DivF32(1, x, r) }
		case "sqrt":
			op = func(x float32) float32 { return softfloat.SqrtF32(x, r) }
		default:
			return nil
		}
	}
	if !ftz {
		return lane1(op)
	}
	return lane1(func(x float32) float32 { return flush(op(flush(x))) })
}

func unaryF64(f *form) execFunc {
	r := f.rounding()
	switch name := f.op.Name; {
	case f.has(flagApprox) && f.has(flagFtz) && (name == "rcp" || name == "rsqrt"):
		fn := softfloat.Function(name)
		return lane1(func(x float64) float64 {
			// The hardware also ignores the lower half of the operand.
			return coarse(fn(flush64(math.Float64frombits(math.Float64bits(x) &^ 0xffffffff))))
		})
	case f.flags == flagApprox && name == "rsqrt":
		return unary64(softfloat.Function(name))
	case f.flags != 0:
		return nil
	case name == "rcp":
		return unary64(func(x float64) float64 { return softfloat.DivF64(1, x, r) })
	case name == "sqrt":
		return unary64(func(x float64) float64 { return softfloat.SqrtF64(x, r) })
	}
	return nil
}

func flush64(x float64) float64 {
	if b := math.Float64bits(x); b&(0x7ff<<52) == 0 {
		return math.Float64frombits(b & (1 << 63))
	}
	return x
}

// coarse clears the lower half of a float64, as the gross approximations in hardware do, and
// flushes subnormal numbers.
func coarse(x float64) float64 {
	if x != x {
		return math.Float64frombits(0x7fffffff00000000)
	}
	return flush64(math.Float64frombits(math.Float64bits(x) &^ 0xffffffff))
}

func lowerTestp(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	if !l.args(i, 2, 2) || len(f.rest)+len(f.cmp) == 0 {
		l.unsupported()
		return
	}
	test, ok := map[string]func(x float64, sub bool) bool{
		"finite":     func(x float64, _ bool) bool { return finite(x) },
		"infinite":   func(x float64, _ bool) bool { return math.IsInf(x, 0) },
		"number":     func(x float64, _ bool) bool { return x == x },
		"notanumber": func(x float64, _ bool) bool { return x != x },
		"normal":     func(x float64, sub bool) bool { return finite(x) && !sub }, // zeros count as normal
		"subnormal":  func(x float64, sub bool) bool { return sub },
	}[f.rest[0]]
	if !ok {
		l.bad("test .%s is not known", f.rest[0])
		return
	}
	var exec execFunc
	switch t {
	case ptx.F32:
		exec = pred1(func(x float32) bool {
			return test(float64(x), x != 0 && math.Float32bits(x)&0x7f800000 == 0)
		})
	case ptx.F64:
		exec = pred1(func(x float64) bool { return test(x, x != 0 && math.Float64bits(x)&(0x7ff<<52) == 0) })
	default:
		l.bad("type .%s is not possible", t)
		return
	}
	a := l.src(i.Args[1], t)
	l.emit(exec, l.dst(i.Args[0], ptx.Pred), a)
}

func lowerCopysign(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	if !l.args(i, 3, 3) || !f.only(0) {
		l.unsupported()
		return
	}
	switch t {
	case ptx.F32:
		l.simple2(i, t, lane2(func(a, b uint32) uint32 { return a&(1<<31) | b&^(1<<31) }))
	case ptx.F64:
		l.simple2(i, t, lane2(func(a, b uint64) uint64 { return a&(1<<63) | b&^(1<<63) }))
	default:
		l.bad("type .%s is not possible", t)
	}
}

// NaNs. The PTX ISA specifies the payload of f64 NaNs. An f32 instruction replaces every NaN with
// the canonical NaN. If several operands of an f64 instruction are NaNs, the result is the NaN that
// the hardware would choose. The code chooses it explicitly, because host processors differ.

// defaultNaN64 is the NaN that invalid operations produce.
const defaultNaN64 = 0xfff8_0000_0000_0000

func quiet64(x float64) float64 { return math.Float64frombits(math.Float64bits(x) | 1<<51) }

func canonical32(x uint32) uint32 {
	if x&0x7fffffff > 0x7f800000 {
		return canonicalNaN
	}
	return x
}

// nanOf returns the NaN that an operation on a and b produces. It is b if b is a NaN, and otherwise
// a if a is a NaN. If neither is, it is the NaN that invalid operations produce.
func nanOf(a, b float64) float64 {
	switch {
	case b != b:
		return quiet64(b)
	case a != a:
		return quiet64(a)
	}
	return math.Float64frombits(defaultNaN64)
}

func nanOrNumber(a, b float64) float64 {
	if b != b {
		return b
	}
	return a
}

// binary64 and unary64 build instructions from functions, and replace each NaN result with the NaN
// that the hardware produces.
func binary64(fn func(a, b float64) float64) execFunc {
	return lane2(func(a, b float64) float64 {
		x := fn(a, b)
		if x != x {
			return nanOf(a, b)
		}
		return x
	})
}

func unary64(fn func(a float64) float64) execFunc {
	return lane1(func(a float64) float64 {
		x := fn(a)
		if x != x {
			return nanOf(a, a)
		}
		return x
	})
}

//go:norace
//go:nocheckptr
func execAddF64(w *warp, in *inst, m uint32) {
	d, a, b := col[float64](w, in.d), col[float64](w, in.a), col[float64](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		x, y := a[i], b[i]
		if d[i] = x + y; d[i] != d[i] {
			d[i] = nanOf(x, y)
		}
	}
}

//go:norace
//go:nocheckptr
func execSubF64(w *warp, in *inst, m uint32) {
	d, a, b := col[float64](w, in.d), col[float64](w, in.a), col[float64](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		x, y := a[i], b[i]
		if d[i] = x - y; d[i] != d[i] {
			d[i] = nanOf(x, y)
		}
	}
}

//go:norace
//go:nocheckptr
func execMulF64(w *warp, in *inst, m uint32) {
	d, a, b := col[float64](w, in.d), col[float64](w, in.a), col[float64](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		x, y := a[i], b[i]
		if d[i] = x * y; d[i] != d[i] {
			d[i] = nanOf(x, y)
		}
	}
}

// cvtNaN returns the function that converts the bit pattern of a NaN. It returns nil if the result
// is the canonical NaN or not a NaN.
func cvtNaN(dt, st ptx.Type, f *form) func(uint64) uint64 {
	from, to := formatOf(st), formatOf(dt)
	switch {
	case f.has(flagSat | flagRelu | flagSatFinite):
		return nil
	case st == ptx.BF16 && dt == ptx.F32:
		return func(x uint64) uint64 { return x & 0xffff << 16 }
	case dt == ptx.F64 && st == ptx.F32 && f.has(flagFtz):
		return func(uint64) uint64 { return 0x7fffffffe0000000 }
	case dt != ptx.F64 && st != ptx.F64:
		return nil
	}
	return func(x uint64) uint64 {
		sign := x >> (from.mant + from.exp) & 1 << (to.mant + to.exp)
		m := x & (1<<from.mant - 1)
		if to.mant >= from.mant {
			m <<= to.mant - from.mant
		} else {
			m >>= from.mant - to.mant
		}
		return sign | (1<<to.exp-1)<<to.mant | m | 1<<(to.mant-1)
	}
}

func formatOf(t ptx.Type) format {
	switch t {
	case ptx.F16:
		return formatF16
	case ptx.BF16:
		return formatBF16
	case ptx.F64:
		return format{52, 11}
	}
	return formatF32
}
