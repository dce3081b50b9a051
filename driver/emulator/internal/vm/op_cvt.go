package vm

import (
	"math"
	"slices"

	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/num"
)

// Conversions: cvt, cvta and cvt.pack.

func init() {
	register(lowerCvt, "cvt")
	register(lowerCvta, "cvta")
	register(lowerIsspacep, "isspacep")
}

func lowerCvt(l *lowerer, i *ptx.Instr, f *form) {
	l.looseWidth = true
	if len(f.rest) > 0 && f.rest[0] == "pack" {
		l.cvtPack(i, f)
		return
	}
	if len(f.types) != 2 {
		l.unsupported()
		return
	}
	dt, st := f.types[0], f.types[1]
	if len(i.Args) > 2 || isPacked(dt) || isPacked(st) {
		l.cvtPacked(i, f)
		return
	}
	if !l.args(i, 2, 2) || !f.only(flagFtz|flagSat|flagRelu|flagSatFinite) {
		l.unsupported()
		return
	}
	var exec execFunc
	switch {
	case !cvtAllowed(dt, st, f):
	case !isFloat(dt) && !isFloat(st):
		exec = cvtInt(dt, st, f.has(flagSat))
	case !isFloat(dt):
		exec = cvtFloatInt(dt, st, f)
	case !isFloat(st):
		exec = cvtIntFloat(dt, st, f)
	default:
		exec = cvtFloat(dt, st, f)
	}
	if exec == nil {
		l.unsupported()
		return
	}
	a := l.src(i.Args[1], st)
	l.emit(exec, l.cvtDst(i.Args[0], dt), a)
}

// cvtDst returns the destination column for a conversion. If the register is wider than the type,
// it receives the extended value.
func (l *lowerer) cvtDst(o ptx.Operand, t ptx.Type) reg {
	d := l.dst(o, t)
	if r, ok := o.(*ptx.Reg); ok && t.Size() < 4 && d.class == class32 && t.Kind() == ptx.KindSigned {
		if def, ok := l.lookupReg(r.Name); ok && def.typ.Size() > t.Size() && def.typ.Size() <= 4 {
			// A narrow result is stored with the upper bits clear. It is sign-extended if the
			// register is wider.
			l.after = append(l.after, widen{d, d, t, def.typ.Size()})
		}
	}
	return d
}

func isPacked(t ptx.Type) bool {
	switch t {
	case ptx.F16x2, ptx.BF16x2, ptx.E4M3x2, ptx.E5M2x2, ptx.U16x2, ptx.S16x2, ptx.F32x2:
		return true
	}
	return false
}

func bitsOf(t ptx.Type) (width uint, signed bool) {
	return uint(8 * t.Size()), t.Kind() == ptx.KindSigned
}

func extend(x uint64, width uint, signed bool) uint64 {
	sh := 64 - width
	if signed {
		return uint64(int64(x<<sh) >> sh)
	}
	return x << sh >> sh
}

func cvtInt(dt, st ptx.Type, sat bool) execFunc {
	dw, ds := bitsOf(dt)
	sw, ss := bitsOf(st)
	if !sat {
		switch {
		case dw == 64 && sw == 32 && ss:
			return execSign64
		case dw == 64 && sw == 32:
			return execZero64
		case dw == 32 && sw == 64:
			return execLow32
		case dw == 64 && sw == 64:
			return execMov[uint64]
		case dw == 32 && sw == 32:
			return execMov[uint32]
		case dw == 32 && sw == 16 && !ss:
			return lane1(func(a uint32) uint32 { return a & 0xffff })
		}
	}
	one := func(a uint64) uint64 {
		x := extend(a, sw, ss)
		if sat {
			x = saturateInt(x, ss, dw, ds)
		}
		return extend(x, dw, false)
	}
	return bankFunc(dw, sw, one)
}

// bankFunc turns a function on 64-bit values into an instruction on columns of the given widths.
func bankFunc(dw, sw uint, one func(uint64) uint64) execFunc {
	switch {
	case dw == 64 && sw == 64:
		return lane1(one)
	case dw == 64:
		return lane1(func(a uint32) uint64 { return one(uint64(a)) })
	case sw == 64:
		return lane1(func(a uint64) uint32 { return uint32(one(a)) })
	}
	return lane1(func(a uint32) uint32 { return uint32(one(uint64(a))) })
}

// saturateInt limits x to the range of an integer type with dw bits. signed and ds report whether x
// and that type are signed.
func saturateInt(x uint64, signed bool, dw uint, ds bool) uint64 {
	high := uint64(1)<<(dw-1) - 1 // the maximum of a signed type
	if !ds {
		high = high<<1 | 1
	}
	if signed && int64(x) < 0 {
		if !ds {
			return 0
		}
		return uint64(max(int64(x), -int64(high)-1))
	}
	return min(x, high)
}

// floatOf returns a function that converts a floating-point pattern to its exact value, or nil.
func floatOf(t ptx.Type, ftz bool) func(uint64) float64 {
	switch t {
	case ptx.F32, ptx.TF32:
		if ftz {
			return func(x uint64) float64 { return float64(flush(math.Float32frombits(uint32(x)))) }
		}
		return func(x uint64) float64 { return float64(math.Float32frombits(uint32(x))) }
	case ptx.F64:
		return math.Float64frombits
	case ptx.F16:
		return func(x uint64) float64 { return num.F16FromBits(uint16(x)).Float64() }
	case ptx.BF16:
		return func(x uint64) float64 { return num.BF16FromBits(uint16(x)).Float64() }
	}
	return nil
}

// cvtFloatInt returns the conversion from a floating-point format to an integer type, or nil. The
// conversion always saturates.
func cvtFloatInt(dt, st ptx.Type, f *form) execFunc {
	read := floatOf(st, f.has(flagFtz))
	if read == nil {
		return nil
	}
	r := roundRZ
	if f.round >= roundInt {
		r = f.round - roundInt
	} else if f.round != roundNone {
		return nil
	}
	dw, ds := bitsOf(dt)
	if dt == ptx.S32 && st == ptx.F32 && r == roundRZ {
		return lane1(f32ToS32)
	}
	return bankFunc(dw, uint(8*st.Size()), func(a uint64) uint64 {
		x := read(a)
		if x != x {
			return nanToInt(st, dw)
		}
		return extend(softfloat.FloatToInt(softfloat.Integral(x, r), dw, ds), dw, false)
	})
}

// nanToInt returns the integer that a NaN converts to. If the source is .f64 or the result has 64
// bits, only the highest bit is set. Otherwise the result is 0 (PTX ISA, cvt).
func nanToInt(st ptx.Type, dw uint) uint64 {
	if dw == 64 || st == ptx.F64 {
		return 1 << (dw - 1)
	}
	return 0
}

func f32ToS32(x float32) int32 {
	switch {
	case x != x:
		return 0
	case x >= 1<<31:
		return 1<<31 - 1
	case x < -1<<31:
		return -1 << 31
	}
	return int32(x)
}

// cvtIntFloat returns the conversion from an integer type to a floating-point format, or nil.
func cvtIntFloat(dt, st ptx.Type, f *form) execFunc {
	sw, ss := bitsOf(st)
	r := f.rounding()
	if r > roundRP {
		return nil
	}
	sat := f.has(flagSat)
	if !sat && r == roundRN && dt == ptx.F32 && sw == 32 {
		if ss {
			return lane1(func(a int32) float32 { return float32(a) })
		}
		return lane1(func(a uint32) float32 { return float32(a) })
	}
	magnitude := func(a uint64) (mag uint64, neg bool) {
		x := extend(a, sw, ss)
		if ss && int64(x) < 0 {
			return -x, true
		}
		return x, false
	}
	write := floatTo(dt, r, false, sat)
	if write == nil {
		return nil
	}
	return bankFunc(uint(8*dt.Size()), sw, func(a uint64) uint64 {
		mag, neg := magnitude(a)
		switch dt {
		case ptx.F64:
			x := softfloat.IntToF64(mag, neg, r)
			if sat {
				x = saturate64(x)
			}
			return math.Float64bits(x)
		case ptx.F32:
			return uint64(math.Float32bits(finish32(softfloat.IntToF32(mag, neg, r), false, sat)))
		}
		return write(float64(intToF32Odd(mag, neg)))
	})
}

// intToF32Odd returns mag, negated if neg is set, rounded to odd with 53 bits of precision.
func intToF32Odd(mag uint64, neg bool) float64 {
	x := softfloat.IntToF64(mag, false, roundRZ)
	if uint64(x) != mag {
		x = math.Float64frombits(math.Float64bits(x) | 1)
	}
	if neg {
		return -x
	}
	return x
}

// floatTo returns a function that rounds a value to a format. The value must be exact or rounded to
// odd.
func floatTo(t ptx.Type, r rounding, ftz, sat bool) func(float64) uint64 {
	clip := func(x float64) float64 {
		if sat {
			return saturate64(x)
		}
		return x
	}
	switch t {
	case ptx.F32:
		return func(x float64) uint64 {
			if x = clip(x); x != x {
				return canonicalNaN
			}
			y := softfloat.ToF32(x, r)
			if ftz {
				y = flush(y)
			}
			return uint64(math.Float32bits(y))
		}
	case ptx.F64:
		return func(x float64) uint64 { return math.Float64bits(clip(x)) }
	case ptx.F16:
		if r == roundRN {
			return func(x float64) uint64 { return uint64(halfFromFloat64(clip(x))) }
		}
		return func(x float64) uint64 { return uint64(formatF16.encode(clip(x), r)) }
	case ptx.BF16:
		if r == roundRN {
			return func(x float64) uint64 { return uint64(bf16FromFloat64(clip(x))) }
		}
		return func(x float64) uint64 { return uint64(formatBF16.encode(clip(x), r)) }
	}
	return nil
}

// cvtFloat converts between floating-point formats, or rounds to an integral value in the same
// format.
func cvtFloat(dt, st ptx.Type, f *form) execFunc {
	ftz, sat, r := f.has(flagFtz), f.has(flagSat), f.round
	if dt == ptx.TF32 {
		return cvtTF32(f)
	}
	// In conversions to .f16, the hardware never flushes the operand. This is visible only with
	// directed rounding.
	read := floatOf(st, ftz && dt != ptx.F16)
	relu := f.has(flagRelu)
	integral := r >= roundInt
	mode := r
	if integral || r == roundNone {
		mode = roundRN
	}
	if !integral && !sat && !ftz && !relu && dt == st && dt != ptx.F16 {
		if dt == ptx.F64 {
			return execMov[uint64]
		}
		return execMov[uint32]
	}
	if dt == ptx.F64 && st == ptx.F32 && !integral && !sat && !ftz {
		return lane1(func(a float32) float64 { return float64(a) })
	}
	if dt == ptx.F32 && st == ptx.F64 && mode == roundRN && !integral && !sat && !ftz {
		return lane1(func(a float64) float32 { return float32(a) })
	}
	write := floatTo(dt, mode, ftz, sat)
	if read == nil || write == nil {
		return nil
	}
	narrow := formatF16
	if dt == ptx.BF16 {
		narrow = formatBF16
	}
	keep := cvtNaN(dt, st, f)
	return bankFunc(uint(8*dt.Size()), uint(8*st.Size()), func(a uint64) uint64 {
		x := read(a)
		if x != x && keep != nil {
			return keep(a)
		}
		if integral {
			x = math.Copysign(softfloat.Integral(x, r-roundInt), x)
		}
		if relu && x <= 0 {
			x = 0
		}
		y := write(x)
		if f.has(flagSatFinite) {
			y = uint64(narrow.limit(uint32(y)))
		}
		return y
	})
}

func tinyInt(name string) (width uint, signed, ok bool) {
	switch name {
	case "u4", "s4":
		return 4, name[0] == 's', true
	case "u2", "s2":
		return 2, name[0] == 's', true
	}
	return 0, false, false
}

// cvtPack lowers cvt.pack.sat, which packs two integers into halves or quarters of 32 bits.
func (l *lowerer) cvtPack(i *ptx.Instr, f *form) {
	if !l.args(i, 3, 4) || len(f.types) < 2 || !f.has(flagSat) {
		l.unsupported()
		return
	}
	dt, st := f.types[0], f.types[1]
	dw, ds := bitsOf(dt)
	if len(f.rest) == 2 { // ptx.Type does not include .u4 and similar types
		st = dt
		var ok bool
		if dw, ds, ok = tinyInt(f.rest[1]); !ok {
			l.bad("type .%s is not possible", f.rest[1])
			return
		}
	}
	a, b := l.src(i.Args[1], st), l.src(i.Args[2], st)
	ss := st.Kind() == ptx.KindSigned
	one := func(x uint32) uint32 {
		return uint32(extend(saturateInt(extend(uint64(x), 32, ss), ss, dw, ds), dw, false))
	}
	if len(i.Args) == 3 {
		l.emit(lane2(func(a, b uint32) uint32 { return one(a)<<dw | one(b) }), l.dst(i.Args[0], ptx.B32), a, b)
		return
	}
	c := l.src(i.Args[3], ptx.B32)
	l.emit(lane3(func(a, b, c uint32) uint32 { return c<<(2*dw) | one(a)<<dw | one(b) }), l.dst(i.Args[0], ptx.B32), a, b, c)
}

// windowOf returns the offset that converts an address in a space to a generic address.
func windowOf(s ptx.Space) (uint64, bool) {
	switch s {
	case ptx.GlobalSpace, ptx.ConstSpace:
		return 0, true
	case ptx.SharedSpace:
		return sharedWindow, true
	case ptx.LocalSpace:
		return localWindow, true
	case ptx.ParamSpace:
		return 0, true // parameter addresses are already generic
	}
	return 0, false
}

func lowerCvta(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 2) {
		return
	}
	l.looseWidth = true
	to := len(f.rest) > 0 && f.rest[0] == "to"
	base, ok := windowOf(f.space)
	t := f.typ()
	if !ok || t.Size() < 4 {
		l.unsupported()
		return
	}
	if f.space == ptx.ParamSpace {
		if s, ok := i.Args[1].(*ptx.Sym); ok {
			if v := l.lookupVar(s.Name); v != nil && !v.kernel {
				base = localWindow // a device function's parameters are in local memory
			}
		}
	}
	a := l.src(i.Args[1], ptx.U64)
	d := l.dst(i.Args[0], t)
	exec := execMov[uint64]
	if base != 0 {
		exec = lane1(func(a uint64) uint64 {
			if to {
				return a - base
			}
			return a + base
		})
	}
	if d.class == class64 {
		l.emit(exec, d, a)
		return
	}
	tmp := l.newReg(class64)
	l.emit(exec, tmp, a)
	l.emit(execLow32, d, tmp)
}

func lowerIsspacep(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 2) {
		return
	}
	if r, ok := i.Args[1].(*ptx.Reg); ok {
		if d, ok := l.lookupReg(r.Name); ok && d.typ.Size() == 4 { // the windows differ only in the upper half of the address
			l.unsupported()
			return
		}
	}
	var test func(a uint64) bool
	in := func(a, window uint64) bool { return a&windowMask == window }
	switch f.space {
	case ptx.SharedSpace:
		exec := execIsShared
		if slices.Contains(f.rest, "shared::cluster") {
			exec = pred1(func(a uint64) bool { return in(a, sharedWindow) })
		}
		l.emit(exec, l.dst(i.Args[0], ptx.Pred), l.src(i.Args[1], ptx.U64))
		return
	case ptx.LocalSpace:
		test = func(a uint64) bool { return in(a, localWindow) }
	case ptx.ParamSpace:
		test = func(a uint64) bool { return in(a, paramWindow) }
	case ptx.GlobalSpace:
		l.emit(execIsGlobal, l.dst(i.Args[0], ptx.Pred), l.src(i.Args[1], ptx.U64))
		return
	case ptx.ConstSpace:
		l.emit(execIsConst, l.dst(i.Args[0], ptx.Pred), l.src(i.Args[1], ptx.U64))
		return
	default:
		l.unsupported()
		return
	}
	a := l.src(i.Args[1], ptx.U64)
	l.emit(pred1(test), l.dst(i.Args[0], ptx.Pred), a)
}

func execIsConst(w *warp, in *inst, m uint32) {
	a := &w.r64[in.a]
	var r uint32
	for k := m; k != 0; k &= k - 1 {
		if i := first(k); w.isConst(a[i]) {
			r |= 1 << i
		}
	}
	w.setPred(in, r, m)
}

// execIsGlobal is isspacep.global. It tests for addresses that are outside all windows and are not
// in constant memory.
func execIsGlobal(w *warp, in *inst, m uint32) {
	a := &w.r64[in.a]
	var r uint32
	for k := m; k != 0; k &= k - 1 {
		i := first(k)
		switch a[i] & windowMask {
		case sharedWindow, localWindow, paramWindow:
		default:
			if !w.isConst(a[i]) {
				r |= 1 << i
			}
		}
	}
	w.setPred(in, r, m)
}

func (w *warp) isConst(a uint64) bool {
	g := w.cta.run.mem.find(a)
	return g != nil && g.Kind == RegionConst
}
