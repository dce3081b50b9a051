package vm

import (
	"math"

	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/num"
)

// Arithmetic in f16 and bf16, single and packed in pairs, and conversions to pairs. Package num
// implements instructions without modifiers. With modifiers, values are computed in float64, rounded
// to odd, and then rounded to the format.

// halfToF32 returns the value of an f16. A NaN keeps its sign, which .xorsign uses.
func halfToF32(h uint32, ftz bool) float32 {
	if ftz && h&0x7c00 == 0 {
		h &= 0x8000
	}
	return num.F16FromBits(uint16(h)).Float32()
}

type half struct {
	format         format
	bf16, packed   bool
	ftz, sat, relu bool
	round          rounding
}

func halfOf(t ptx.Type, f *form) half {
	h := half{format: formatF16, ftz: f.has(flagFtz), sat: f.has(flagSat), relu: f.has(flagRelu), round: roundRN}
	h.bf16 = t == ptx.BF16 || t == ptx.BF16x2
	h.packed = t == ptx.F16x2 || t == ptx.BF16x2
	if h.bf16 {
		h.format = formatBF16
	}
	return h
}

func (h *half) in(x uint32) float64 {
	if h.bf16 {
		v := math.Float32frombits(x << 16)
		if h.ftz {
			v = flush(v)
		}
		return float64(v)
	}
	return float64(halfToF32(x&0xffff, h.ftz))
}

// out returns the bit pattern of a result. x must be exact or rounded to odd.
func (h *half) out(x float64) uint32 {
	switch {
	case x != x && h.sat:
		return 0
	case x != x:
		return h.format.nan()
	case h.ftz && h.tiny(x):
		x = math.Copysign(0, x)
		if h.sat || h.relu {
			x = 0
		}
	case h.sat:
		x = saturate64(x)
	case h.relu && x < 0, h.relu && x == 0:
		x = 0
	}
	r := h.encode(x)
	if h.ftz && r&0x7fff < 1<<h.format.mant {
		r &= 0x8000
	}
	return r
}

func (h *half) encode(x float64) uint32 {
	switch {
	case h.round != roundRN:
		return h.format.encode(x, h.round)
	case h.bf16:
		return bf16FromFloat64(x)
	}
	return halfFromFloat64(x)
}

// plain reports whether the instruction has no modifiers.
func (h *half) plain() bool { return !h.ftz && !h.sat && !h.relu && h.round == roundRN }

// num2 and num3 are operations from package num.
type num2 struct {
	f16  func(a, b num.F16) num.F16
	bf16 func(a, b num.BF16) num.BF16
}

type num3 struct {
	f16  func(a, b, c num.F16) num.F16
	bf16 func(a, b, c num.BF16) num.BF16
}

var (
	numAdd = num2{num.F16.Add, num.BF16.Add}
	numSub = num2{num.F16.Sub, num.BF16.Sub}
	numMul = num2{num.F16.Mul, num.BF16.Mul}
	numMin = num2{num.F16.Min, num.BF16.Min}
	numMax = num2{num.F16.Max, num.BF16.Max}
	numFMA = num3{num.F16.FMA, num.BF16.FMA}
)

// of returns the operation on the bits of one or two numbers.
func (n num2) of(h half) func(a, b uint32) uint32 {
	op := func(a, b uint32) uint32 {
		return uint32(n.f16(num.F16FromBits(uint16(a)), num.F16FromBits(uint16(b))).Bits())
	}
	if h.bf16 {
		op = func(a, b uint32) uint32 {
			return uint32(n.bf16(num.BF16FromBits(uint16(a)), num.BF16FromBits(uint16(b))).Bits())
		}
	}
	if !h.packed {
		return op
	}
	return func(a, b uint32) uint32 { return op(a, b) | op(a>>16, b>>16)<<16 }
}

// of returns the operation on the bits of one or two numbers.
func (n num3) of(h half) func(a, b, c uint32) uint32 {
	op := func(a, b, c uint32) uint32 {
		return uint32(n.f16(num.F16FromBits(uint16(a)), num.F16FromBits(uint16(b)), num.F16FromBits(uint16(c))).Bits())
	}
	if h.bf16 {
		op = func(a, b, c uint32) uint32 {
			return uint32(n.bf16(num.BF16FromBits(uint16(a)), num.BF16FromBits(uint16(b)), num.BF16FromBits(uint16(c))).Bits())
		}
	}
	if !h.packed {
		return op
	}
	return func(a, b, c uint32) uint32 { return op(a, b, c) | op(a>>16, b>>16, c>>16)<<16 }
}

// one, two and three build instructions from functions on one, two and three values.

func (h half) one(fn func(a float64) float64) execFunc {
	return lane1(func(a uint32) uint32 {
		r := h.out(fn(h.in(a)))
		if h.packed {
			r |= h.out(fn(h.in(a>>16))) << 16
		}
		return r
	})
}

func (h half) two(fn func(a, b float64) float64) execFunc {
	return lane2(func(a, b uint32) uint32 {
		r := h.out(fn(h.in(a), h.in(b)))
		if h.packed {
			r |= h.out(fn(h.in(a>>16), h.in(b>>16))) << 16
		}
		return r
	})
}

func (h half) three(fn func(a, b, c float64) float64) execFunc {
	return lane3(func(a, b, c uint32) uint32 {
		r := h.out(fn(h.in(a), h.in(b), h.in(c)))
		if h.packed {
			r |= h.out(fn(h.in(a>>16), h.in(b>>16), h.in(c>>16))) << 16
		}
		return r
	})
}

func (l *lowerer) halfBinary(i *ptx.Instr, f *form) {
	t := f.typ()
	if len(f.types) == 2 {
		l.mixedBinary(i, f)
		return
	}
	if f.rounding() != roundRN || !f.only(flagFtz|flagSat) {
		l.unsupported()
		return
	}
	h := halfOf(t, f)
	n, exact := numAdd, softfloat.AddOdd
	switch f.op.Name {
	case "add":
	case "sub":
		n, exact = numSub, func(a, b float64) float64 { return softfloat.AddOdd(a, -b) }
	case "mul":
		n, exact = numMul, func(a, b float64) float64 { return float64(a * b) }
	default:
		l.unsupported()
		return
	}
	if h.plain() {
		l.simple2(i, t, lane2(n.of(h)))
		return
	}
	l.simple2(i, t, h.two(exact))
}

// mixedBinary lowers add.f32.f16 and sub.f32.f16, which compute in f32 with one half operand.
func (l *lowerer) mixedBinary(i *ptx.Instr, f *form) {
	st := f.types[1]
	if f.types[0] != ptx.F32 || st != ptx.F16 && st != ptx.BF16 || f.op.Name != "add" && f.op.Name != "sub" || !f.only(flagSat) {
		l.unsupported()
		return
	}
	h := halfOf(st, &form{})
	r, sat, sub := f.rounding(), f.has(flagSat), f.op.Name == "sub"
	a, c := l.src(i.Args[1], st), l.src(i.Args[2], ptx.F32)
	l.emit(lane2(func(a uint32, c float32) float32 {
		if sub {
			c = -c
		}
		return finish32(softfloat.AddF32(float32(h.in(a)), c, r), false, sat)
	}), l.dst(i.Args[0], ptx.F32), a, c)
}

func (l *lowerer) halfFma(i *ptx.Instr, f *form) {
	t := f.typ()
	if len(f.types) == 2 && f.types[0] == ptx.F32 && (t == ptx.F16 || t == ptx.BF16) && f.only(flagSat) {
		h, r, sat := halfOf(t, &form{}), f.rounding(), f.has(flagSat)
		a, b, c := l.src(i.Args[1], t), l.src(i.Args[2], t), l.src(i.Args[3], ptx.F32)
		l.emit(lane3(func(a, b uint32, c float32) float32 {
			return finish32(softfloat.FMAF32Mode(float32(h.in(a)), float32(h.in(b)), c, r), false, sat)
		}), l.dst(i.Args[0], ptx.F32), a, b, c)
		return
	}
	if f.has(flagOOB) && len(f.types) == 1 && f.rounding() == roundRN && f.only(flagOOB|flagRelu) {
		l.simple3(i, t, halfOf(t, f).outOfBounds())
		return
	}
	if len(f.types) != 1 || f.rounding() != roundRN || !f.only(flagFtz|flagSat|flagRelu) {
		l.unsupported()
		return
	}
	h := halfOf(t, f)
	if h.plain() {
		l.simple3(i, t, lane3(numFMA.of(h)))
		return
	}
	l.simple3(i, t, h.three(softfloat.FMAOdd))
}

func (l *lowerer) halfMinMax(i *ptx.Instr, f *form) {
	t := f.typ()
	mm, h := f.minmax(), halfOf(t, f)
	for _, r := range f.rest {
		if r != "xorsign" {
			l.unsupported()
			return
		}
	}
	if len(i.Args) == 4 {
		l.simple3(i, t, h.three(func(a, b, c float64) float64 { return mm.of64(mm.of64(a, b), c) }))
		return
	}
	if h.plain() && mm == (minmax{max: mm.max}) {
		n := numMin
		if mm.max {
			n = numMax
		}
		l.simple2(i, t, lane2(n.of(h)))
		return
	}
	l.simple2(i, t, h.two(mm.of64))
}

func (l *lowerer) halfAbsNeg(i *ptx.Instr, f *form) {
	t := f.typ()
	if !f.only(flagFtz) {
		l.unsupported()
		return
	}
	sign := uint32(0x8000)
	if t.Size() == 4 {
		sign = 0x80008000
	}
	neg := f.op.Name == "neg"
	h := halfOf(t, f)
	exec := lane1(func(a uint32) uint32 {
		if neg {
			a ^= sign
		} else {
			a &^= sign
		}
		return h.canonical(a)
	})
	if h.ftz {
		exec = h.one(func(a float64) float64 {
			if neg {
				return -a
			}
			return math.Abs(a)
		})
	}
	a := l.src(i.Args[1], t)
	l.emit(exec, l.dst(i.Args[0], t), a)
}

func (l *lowerer) halfUnary(i *ptx.Instr, f *form) {
	t := f.typ()
	fn := softfloat.Function(f.op.Name)
	if f.op.Name != "ex2" && f.op.Name != "tanh" {
		l.bad("type .%s is not possible", t)
		return
	}
	a := l.src(i.Args[1], t)
	l.emit(halfOf(t, f).one(fn), l.dst(i.Args[0], t), a)
}

// setp16x2 lowers setp of packed halves. It writes p for the lower halves and q for the upper
// halves.
func (l *lowerer) setp16x2(i *ptx.Instr, f *form) {
	pair, ok := i.Args[0].(*ptx.Pair)
	if !ok {
		l.unsupported()
		return
	}
	ps := l.compare16x2(i, f)
	if len(i.Args) == 4 {
		c, not := l.pred(i.Args[3])
		for k, p := range ps {
			q := l.newReg(classPred)
			n := l.emit(execLogicPred, q, p, c)
			n.in.aux, n.in.imm = boolOp(f.bool), b2u64(not)<<1
			ps[k] = q
		}
	}
	l.emit(execMovPred, l.dst(pair.A, ptx.Pred), ps[0])
	l.emit(execMovPred, l.dst(pair.B, ptx.Pred), ps[1])
}

func (l *lowerer) compare16x2(i *ptx.Instr, f *form) [2]reg {
	t, ftz := f.typ(), f.has(flagFtz)
	part := ptx.F16
	if t == ptx.BF16x2 {
		part = ptx.BF16
	}
	op, ok := comparison(f.cmp, ptx.KindFloat)
	if !ok {
		l.bad("comparison .%s is not known", f.cmp)
	}
	a, b := l.src(i.Args[1], t), l.src(i.Args[2], t)
	var ps [2]reg
	for k := range ps {
		x, y := a, b
		if k == 1 {
			x, y = l.newReg(class32), l.newReg(class32)
			up := lane1(func(a uint32) uint32 { return a >> 16 })
			l.emit(up, x, a)
			l.emit(up, y, b)
		}
		ps[k] = l.newReg(classPred)
		l.emit(execCompare[float32], ps[k], l.widened(x, part, ftz), l.widened(y, part, ftz)).in.aux = op
	}
	return ps
}

func (l *lowerer) set16x2(i *ptx.Instr, f *form) {
	ps := l.compare16x2(i, f)
	if len(i.Args) == 4 {
		c, not := l.pred(i.Args[3])
		for k, p := range ps {
			q := l.newReg(classPred)
			n := l.emit(execLogicPred, q, p, c)
			n.in.aux, n.in.imm = boolOp(f.bool), b2u64(not)<<1
			ps[k] = q
		}
	}
	yes := uint64(0xffff)
	switch f.types[0] {
	case ptx.F16x2:
		yes = 0x3c00
	case ptx.BF16x2:
		yes = 0x3f80
	}
	lo, hi := l.newReg(class32), l.newReg(class32)
	zero := l.constant(class32, 0)
	l.emit(execSelp[uint32], lo, l.constant(class32, yes), zero, ps[0])
	l.emit(execSelp[uint32], hi, l.constant(class32, yes<<16), zero, ps[1])
	l.emit(execOr[uint32], l.dst(i.Args[0], ptx.B32), lo, hi)
}

// cvtPacked lowers cvt to and from pairs. cvt.rn.f16x2.f32 d, a, b puts a in the upper half.
func (l *lowerer) cvtPacked(i *ptx.Instr, f *form) {
	dt, st := f.types[0], f.types[1]
	if isFP8(dt) || isFP8(st) {
		l.cvtFP8(i, f)
		return
	}
	if len(i.Args) != 3 || st != ptx.F32 || dt != ptx.F16x2 && dt != ptx.BF16x2 || !f.only(flagRelu|flagSatFinite) {
		l.unsupported()
		return
	}
	h := halfOf(dt, f)
	h.round = f.rounding()
	satfinite := f.has(flagSatFinite)
	one := func(x float32) uint32 {
		v := float64(x)
		r := h.out(v)
		if satfinite {
			r = h.format.limit(r)
		}
		return r
	}
	a, b := l.src(i.Args[1], st), l.src(i.Args[2], st)
	l.emit(lane2(func(a, b float32) uint32 { return one(a)<<16 | one(b) }), l.dst(i.Args[0], dt), a, b)
}

// tiny reports whether x, rounded with an unlimited exponent range, is below the smallest normal
// number in magnitude.
func (h *half) tiny(x float64) bool {
	s := h.format.smallest()
	return math.Abs(x) < s && math.Abs(h.format.decode(h.format.encode(x*0x1p4, h.round))) < s*0x1p4
}

// canonical replaces each NaN in x with the NaN that arithmetic produces.
func (h *half) canonical(x uint32) uint32 {
	x = h.canonicalLow(x)
	if h.packed {
		x = x&0xffff | h.canonicalLow(x>>16)<<16
	}
	return x
}

func (h *half) canonicalLow(x uint32) uint32 {
	if x&0x7fff > h.format.nan()&^(1<<h.format.mant-1) {
		return x&^0xffff | h.format.nan()
	}
	return x
}

// oobNaN is a NaN, of either sign, that bulk copies can store in elements outside a tensor. The
// value is the one that an H200 uses.
const oobNaN = 0x7ff7

// outOfBounds is fma.oob, which returns 0 if a factor is oobNaN.
func (h half) outOfBounds() execFunc {
	fma := func(a, b, c uint32) uint32 {
		if a&0x7fff == oobNaN || b&0x7fff == oobNaN {
			return 0
		}
		return h.out(softfloat.FMAOdd(h.in(a), h.in(b), h.in(c)))
	}
	return lane3(func(a, b, c uint32) uint32 {
		r := fma(a, b, c)
		if h.packed {
			r |= fma(a>>16, b>>16, c>>16) << 16
		}
		return r
	})
}

// Conversions of the 8-bit formats. e5m2 is an IEEE-style format like f16. e4m3 has no infinities
// and one NaN pattern.

func isFP8(t ptx.Type) bool {
	switch t {
	case ptx.E4M3, ptx.E5M2, ptx.E4M3x2, ptx.E5M2x2:
		return true
	}
	return false
}

var (
	formatE5M2 = format{2, 5}
	formatE4M3 = format{3, 4}
)

// fp8Encode rounds x to nearest with .satfinite, the only mode that exists.
func fp8Encode(x float64, e4m3, relu bool) uint32 {
	if relu && x <= 0 {
		x = 0
	}
	if e4m3 {
		return uint32(num.E4M3FromFloat64(x).Bits())
	}
	return uint32(num.E5M2FromFloat64(x).Bits())
}

func fp8Decode(x uint32, e4m3 bool) float64 {
	if e4m3 {
		return num.E4M3FromBits(uint8(x)).Float64()
	}
	return num.E5M2FromBits(uint8(x)).Float64()
}

// cvtFP8 lowers conversions between pairs of 8-bit values and pairs of f32, f16 or bf16 values.
func (l *lowerer) cvtFP8(i *ptx.Instr, f *form) {
	dt, st := f.types[0], f.types[1]
	relu := f.has(flagRelu)
	if !f.only(flagRelu | flagSatFinite) {
		l.unsupported()
		return
	}
	e4m3 := dt == ptx.E4M3x2 || st == ptx.E4M3x2
	l.looseWidth = true
	switch {
	case len(i.Args) == 3 && st == ptx.F32 && isPacked(dt):
		a, b := l.src(i.Args[1], st), l.src(i.Args[2], st)
		l.emit(lane2(func(a, b float32) uint32 {
			return fp8Encode(float64(a), e4m3, relu)<<8 | fp8Encode(float64(b), e4m3, relu)
		}), l.dst(i.Args[0], ptx.B16), a, b)
	case len(i.Args) == 2 && (st == ptx.F16x2 || st == ptx.BF16x2):
		h := halfOf(st, &form{})
		a := l.src(i.Args[1], st)
		l.emit(lane1(func(a uint32) uint32 {
			return fp8Encode(h.in(a>>16), e4m3, relu)<<8 | fp8Encode(h.in(a&0xffff), e4m3, relu)
		}), l.dst(i.Args[0], ptx.B16), a)
	case len(i.Args) == 2 && (dt == ptx.F16x2 || dt == ptx.BF16x2):
		h := halfOf(dt, &form{})
		h.relu = relu
		a := l.src(i.Args[1], ptx.B16)
		l.emit(lane1(func(a uint32) uint32 {
			return h.out(fp8Decode(a>>8, e4m3))<<16 | h.out(fp8Decode(a, e4m3))
		}), l.dst(i.Args[0], dt), a)
	default:
		l.unsupported()
	}
}

// Conversion of f32 to tf32, and the valid forms of cvt.

var formatTF32 = format{10, 8}

// tf32NaN is the result of converting a NaN with .rn or .rz.
const tf32NaN = 0x7fffe000

// cvtTF32 is cvt to .tf32. The mode .rna adds half a unit in the last place to the bit pattern of a
// finite number. With .satfinite, it then subtracts one such unit from the bit pattern of an
// infinity or a NaN, as the hardware does.
func cvtTF32(f *form) execFunc {
	relu, finite := f.has(flagRelu), f.has(flagSatFinite)
	switch {
	case f.round == roundRNA && !relu:
		return lane1(func(x uint32) uint32 { return tf32Away(x, finite) })
	case f.round != roundRN && f.round != roundRZ, finite:
		return nil // .satfinite with .rn and .rz requires sm_100
	}
	return lane1(func(x uint32) uint32 {
		v := float64(math.Float32frombits(x))
		switch {
		case v != v:
			return tf32NaN
		case relu && v <= 0:
			v = 0
		}
		return formatTF32.encode(v, f.round) << 13
	})
}

func tf32Away(x uint32, finite bool) uint32 {
	const inf = 0x7f800000
	if x&inf != inf {
		x += 1 << 12
	}
	x &^= 1<<13 - 1
	if finite && x&inf == inf {
		x -= 1 << 13
	}
	return x
}

// cvtAllowed reports whether drivers accept a conversion between these types with the form's
// modifiers.
func cvtAllowed(dt, st ptx.Type, f *form) bool {
	bf16 := dt == ptx.BF16 || st == ptx.BF16
	small := dt.Size() == 1 || st.Size() == 1
	switch {
	case bf16 && (f.has(flagSat) || small):
		return false
	case f.has(flagSat) && !isFloat(dt) && !isFloat(st):
		return narrows(dt, st)
	}
	return true
}

// narrows reports whether an integer of type st may be outside dt's range.
func narrows(dt, st ptx.Type) bool {
	dw, ds := bitsOf(dt)
	sw, ss := bitsOf(st)
	switch {
	case ss && !ds:
		return true
	case ds && !ss:
		return sw >= dw
	}
	return sw > dw
}
