package vm

import (
	"github.com/purecuda/cuda/ptx"
)

func init() {
	register(lowerAddSub, "add", "sub")
	register(lowerMul, "mul")
	register(lowerMad, "mad")
	register(lowerFma, "fma")
	register(lowerMul24, "mul24", "mad24")
	register(lowerDiv, "div")
	register(lowerRem, "rem")
	register(lowerMinMax, "min", "max")
	register(lowerAbsNeg, "abs", "neg")
	register(lowerSad, "sad")
	register(lowerCarry, "addc", "subc", "madc")
	register(lowerDp, "dp4a", "dp2a")
}

// intOps holds the execution functions of an instruction, by integer type.
type intOps struct {
	u16, s16, u32, s32, u64, s64 execFunc
}

func (o *intOps) pick(t ptx.Type) execFunc {
	switch t {
	case ptx.U16:
		return o.u16
	case ptx.S16:
		return o.s16
	case ptx.U32:
		return o.u32
	case ptx.S32:
		return o.s32
	case ptx.U64:
		return o.u64
	case ptx.S64:
		return o.s64
	case ptx.B16:
		return o.u16
	case ptx.B32:
		return o.u32
	case ptx.B64:
		return o.u64
	}
	return nil
}

var (
	addInt = intOps{u16x(func(a, b uint32) uint32 { return a + b }), s16x(func(a, b int32) int32 { return a + b }),
		execAdd[uint32], execAdd[uint32], execAdd[uint64], execAdd[uint64]}
	subInt = intOps{u16x(func(a, b uint32) uint32 { return a - b }), s16x(func(a, b int32) int32 { return a - b }),
		execSub[uint32], execSub[uint32], execSub[uint64], execSub[uint64]}
	mulLo = intOps{u16x(func(a, b uint32) uint32 { return a * b }), s16x(func(a, b int32) int32 { return a * b }),
		execMulLo[uint32], execMulLo[uint32], execMulLo[uint64], execMulLo[uint64]}
	mulHi = intOps{u16x(func(a, b uint32) uint32 { return a * b >> 16 }), s16x(func(a, b int32) int32 { return a * b >> 16 }),
		lane2(mulHiU32), lane2(mulHiS32), lane2(mulHiU64), lane2(mulHiS64)}
	minInt = intOps{u16x(func(a, b uint32) uint32 { return min(a, b) }), s16x(func(a, b int32) int32 { return min(a, b) }),
		execMin[uint32], execMin[int32], execMin[uint64], execMin[int64]}
	maxInt = intOps{u16x(func(a, b uint32) uint32 { return max(a, b) }), s16x(func(a, b int32) int32 { return max(a, b) }),
		execMax[uint32], execMax[int32], execMax[uint64], execMax[int64]}
	divInt = intOps{u16x(divU32), s16x(divS32), lane2(divU32), lane2(divS32), lane2(divU64), lane2(divS64)}
	remInt = intOps{u16x(remU32), s16x(remS32), lane2(remU32), lane2(remS32), lane2(remU64), lane2(remS64)}
)

// simple2 lowers d = a op b for type t.
func (l *lowerer) simple2(i *ptx.Instr, t ptx.Type, exec execFunc) {
	if exec == nil {
		l.bad("type .%s is not possible", t)
		return
	}
	a, b := l.src(i.Args[1], t), l.src(i.Args[2], t)
	l.emit(exec, l.dst(i.Args[0], t), a, b)
}

// simple3 lowers d = op(a, b, c) for type t.
func (l *lowerer) simple3(i *ptx.Instr, t ptx.Type, exec execFunc) {
	if exec == nil {
		l.bad("type .%s is not possible", t)
		return
	}
	a, b, c := l.src(i.Args[1], t), l.src(i.Args[2], t), l.src(i.Args[3], t)
	l.emit(exec, l.dst(i.Args[0], t), a, b, c)
}

func lowerAddSub(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 3) {
		return
	}
	t := f.typ()
	if isFloat(t) {
		l.floatBinary(i, f)
		return
	}
	ops := &addInt
	if f.op.Name == "sub" {
		ops = &subInt
	}
	switch {
	case !f.only(flagSat | flagCC):
		l.unsupported()
	case f.has(flagCC):
		l.carryOut(i, f)
	case f.has(flagSat):
		l.saturating(i, t, f.op.Name == "sub")
	case t == ptx.U16x2 || t == ptx.S16x2:
		if f.op.Name == "sub" {
			l.bad("type .%s is not possible", t)
			return
		}
		l.simple2(i, t, lane2(func(a, b uint32) uint32 {
			return packed16(a, b, func(a, b uint32) uint32 { return a + b })
		}))
	default:
		l.simple2(i, t, ops.pick(t))
	}
}

func (l *lowerer) saturating(i *ptx.Instr, t ptx.Type, sub bool) {
	if t != ptx.S32 {
		l.bad("saturation of type .%s is not possible", t)
		return
	}
	exec := lane2(func(a, b int32) int32 { return saturate32(int64(a) + int64(b)) })
	if sub {
		exec = lane2(func(a, b int32) int32 { return saturate32(int64(a) - int64(b)) })
	}
	l.simple2(i, t, exec)
}

func lowerMul(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 3) {
		return
	}
	t := f.typ()
	if isFloat(t) {
		l.floatBinary(i, f)
		return
	}
	switch {
	case f.only(flagLo) && f.has(flagLo):
		l.simple2(i, t, mulLo.pick(t))
	case f.only(flagHi) && f.has(flagHi):
		l.simple2(i, t, mulHi.pick(t))
	case f.only(flagWide) && f.has(flagWide):
		l.wide(i, t, false)
	default:
		l.unsupported()
	}
}

func (l *lowerer) wide(i *ptx.Instr, t ptx.Type, mad bool) {
	var mul, add execFunc
	dt := ptx.U64
	switch t {
	case ptx.U32:
		mul, add = execMulWide[uint32, uint64], execMadWide[uint32, uint64]
	case ptx.S32:
		mul, add = execMulWide[int32, int64], execMadWide[int32, int64]
	case ptx.U16:
		dt = ptx.U32
		mul = lane2(func(a, b uint32) uint32 { return a & 0xffff * (b & 0xffff) })
		add = lane3(func(a, b, c uint32) uint32 { return a&0xffff*(b&0xffff) + c })
	case ptx.S16:
		dt = ptx.U32
		mul = lane2(func(a, b int32) int32 { return int32(int16(a)) * int32(int16(b)) })
		add = lane3(func(a, b, c int32) int32 { return int32(int16(a))*int32(int16(b)) + c })
	default:
		l.bad("type .%s is not possible", t)
		return
	}
	a, b := l.src(i.Args[1], t), l.src(i.Args[2], t)
	if mad {
		c := l.src(i.Args[3], dt)
		l.emit(add, l.dst(i.Args[0], dt), a, b, c)
		return
	}
	l.emit(mul, l.dst(i.Args[0], dt), a, b)
}

var (
	madLo = intOps{
		lane3(func(a, b, c uint32) uint32 { return (a*b + c) & 0xffff }), lane3(func(a, b, c uint32) uint32 { return (a*b + c) & 0xffff }),
		execMadLo[uint32], execMadLo[uint32], execMadLo[uint64], execMadLo[uint64]}
	madHi = intOps{
		lane3(func(a, b, c uint32) uint32 { return (a*b>>16 + c) & 0xffff }),
		lane3(func(a, b, c int32) int32 { return (int32(int16(a))*int32(int16(b))>>16 + c) & 0xffff }),
		lane3(func(a, b, c uint32) uint32 { return mulHiU32(a, b) + c }), lane3(func(a, b, c int32) int32 { return mulHiS32(a, b) + c }),
		lane3(func(a, b, c uint64) uint64 { return mulHiU64(a, b) + c }), lane3(func(a, b, c int64) int64 { return mulHiS64(a, b) + c })}
)

func lowerMad(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 4, 4) {
		return
	}
	t := f.typ()
	if isFloat(t) {
		lowerFma(l, i, f)
		return
	}
	switch {
	case f.has(flagCC):
		lowerCarry(l, i, f)
	case f.has(flagWide) && f.only(flagWide):
		l.wide(i, t, true)
	case f.has(flagHi|flagSat) && f.only(flagHi|flagSat) && t == ptx.S32 && f.has(flagSat):
		l.simple3(i, t, lane3(func(a, b, c int32) int32 { return saturate32(int64(mulHiS32(a, b)) + int64(c)) }))
	case f.has(flagHi) && f.only(flagHi):
		l.simple3(i, t, madHi.pick(t))
	case f.has(flagLo) && f.only(flagLo):
		l.simple3(i, t, madLo.pick(t))
	default:
		l.unsupported()
	}
}

func lowerMul24(l *lowerer, i *ptx.Instr, f *form) {
	mad := f.op.Name == "mad24"
	n := 3
	if mad {
		n = 4
	}
	t := f.typ()
	if !l.args(i, n, n) || !f.only(flagHi|flagLo|flagSat) || t != ptx.U32 && t != ptx.S32 {
		l.unsupported()
		return
	}
	mul := func(a, b uint32) uint32 { // the product of 24-bit values has 48 bits
		if t == ptx.S32 {
			p := int64(int32(a<<8)>>8) * int64(int32(b<<8)>>8)
			if f.has(flagHi) {
				return uint32(p >> 16)
			}
			return uint32(p)
		}
		p := uint64(a&0xffffff) * uint64(b&0xffffff)
		if f.has(flagHi) {
			return uint32(p >> 16)
		}
		return uint32(p)
	}
	switch {
	case !mad:
		l.simple2(i, t, lane2(mul))
	case f.has(flagSat):
		l.simple3(i, t, lane3(func(a, b, c uint32) uint32 { return uint32(saturate32(int64(int32(mul(a, b))) + int64(int32(c)))) }))
	default:
		l.simple3(i, t, lane3(func(a, b, c uint32) uint32 { return mul(a, b) + c }))
	}
}

func lowerDiv(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 3) {
		return
	}
	if isFloat(f.typ()) {
		l.floatBinary(i, f)
		return
	}
	if !f.only(0) {
		l.unsupported()
		return
	}
	l.simple2(i, f.typ(), divInt.pick(f.typ()))
}

func lowerRem(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 3) || !f.only(0) {
		l.unsupported()
		return
	}
	l.simple2(i, f.typ(), remInt.pick(f.typ()))
}

func lowerMinMax(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 4) {
		return
	}
	t := f.typ()
	if isFloat(t) {
		l.floatMinMax(i, f)
		return
	}
	ops := &minInt
	if f.op.Name == "max" {
		ops = &maxInt
	}
	exec := ops.pick(t)
	if t == ptx.U16x2 || t == ptx.S16x2 {
		exec = minMax16x2(t == ptx.S16x2, f.op.Name == "max")
	}
	if len(i.Args) != 3 || !f.only(flagRelu) || f.has(flagRelu) && t != ptx.S32 && t != ptx.S16x2 {
		l.unsupported()
		return
	}
	if !f.has(flagRelu) {
		l.simple2(i, t, exec)
		return
	}
	a, b := l.src(i.Args[1], t), l.src(i.Args[2], t)
	tmp := l.newReg(class32)
	l.emit(exec, tmp, a, b)
	relu := execMax[int32]
	if t == ptx.S16x2 {
		relu = minMax16x2(true, true)
	}
	l.emit(relu, l.dst(i.Args[0], t), tmp, l.constant(class32, 0))
}

func lowerAbsNeg(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 2) {
		return
	}
	t := f.typ()
	if isFloat(t) {
		l.floatAbsNeg(i, f)
		return
	}
	// Only floating-point types have modifiers. They were handled above.
	var exec execFunc
	neg := f.op.Name == "neg"
	switch {
	case !f.only(0):
	case t == ptx.S16 && neg:
		exec = lane1(func(a uint32) uint32 { return -a & 0xffff })
	case t == ptx.S16:
		exec = lane1(func(a uint32) uint32 { return uint32(max(int32(int16(a)), -int32(int16(a)))) & 0xffff })
	case t == ptx.S32 && neg:
		exec = lane1(func(a int32) int32 { return -a })
	case t == ptx.S32:
		exec = lane1(func(a int32) int32 { return max(a, -a) })
	case t == ptx.S64 && neg:
		exec = lane1(func(a int64) int64 { return -a })
	case t == ptx.S64:
		exec = lane1(func(a int64) int64 { return max(a, -a) })
	}
	if exec == nil {
		l.unsupported()
		return
	}
	a := l.src(i.Args[1], t)
	l.emit(exec, l.dst(i.Args[0], t), a)
}

func lowerSad(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 4, 4) || !f.only(0) {
		return
	}
	ops := intOps{
		lane3(func(a, b, c uint32) uint32 { return (max(a, b) - min(a, b) + c) & 0xffff }),
		lane3(func(a, b, c uint32) uint32 {
			x, y := int32(int16(a)), int32(int16(b))
			return (uint32(max(x, y)-min(x, y)) + c) & 0xffff
		}),
		lane3(func(a, b, c uint32) uint32 { return max(a, b) - min(a, b) + c }),
		lane3(func(a, b, c int32) int32 { return max(a, b) - min(a, b) + c }),
		lane3(func(a, b, c uint64) uint64 { return max(a, b) - min(a, b) + c }),
		lane3(func(a, b, c int64) int64 { return max(a, b) - min(a, b) + c }),
	}
	l.simple3(i, f.typ(), ops.pick(f.typ()))
}

// carryReg returns the register of the function's condition code. The first call allocates it.
func (l *lowerer) carryReg() reg {
	if l.carry == noReg {
		l.carry = l.newReg(classPred)
	}
	return l.carry
}

func (l *lowerer) carryOut(i *ptx.Instr, f *form) { lowerCarry(l, i, f) }

// lowerCarry lowers the extended-precision family: add.cc, addc, sub.cc, subc, mad.cc and madc. aux
// selects the operation. A subtraction adds the complement, so it sets the condition code to 1 if
// there was no borrow. The hardware behaves this way, although the PTX ISA describes a borrow flag.
// Compilers rely on it in 128-bit division, where addc after sub.cc detects a borrow.
func lowerCarry(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	name := f.op.Name
	if !f.only(flagCC|flagHi|flagLo) || t.Kind() == ptx.KindFloat || t.Size() < 4 {
		l.unsupported()
		return
	}
	mul := name == "mad" || name == "madc"
	want := 3
	if mul {
		want = 4
	}
	if !l.args(i, want, want) {
		return
	}
	a, b := l.src(i.Args[1], t), l.src(i.Args[2], t)
	if mul {
		p := l.newReg(classOf(t))
		ops := &mulLo
		if f.has(flagHi) {
			ops = &mulHi
		}
		l.emit(ops.pick(t), p, a, b)
		a, b = p, l.src(i.Args[3], t)
	}
	var op uint16
	if name == "sub" || name == "subc" {
		op |= carrySub
	}
	if name == "addc" || name == "subc" || name == "madc" {
		op |= carryIn
	}
	if f.has(flagCC) {
		op |= carryOutput
	}
	exec := execCarry32
	if classOf(t) == class64 {
		exec = execCarry64
	}
	cc := l.carryReg()
	n := l.emit(exec, l.dst(i.Args[0], t), a, b)
	n.in.aux = op
	if op&carryIn != 0 || n.in.kind != guardNone {
		n.ref(fieldC, cc, false)
	}
	if op&carryOutput != 0 {
		n.ref(fieldC, cc, true)
	}
}

const (
	carrySub = 1 << iota
	carryIn
	carryOutput
)

func lowerDp(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 4, 4) || len(f.types) != 2 || !f.only(flagLo|flagHi) {
		l.unsupported()
		return
	}
	sa, sb := f.types[0] == ptx.S32, f.types[1] == ptx.S32
	byteOf := func(x uint32, k int, signed bool) int32 {
		if signed {
			return int32(int8(x >> (8 * k)))
		}
		return int32(uint8(x >> (8 * k)))
	}
	t := ptx.U32
	if f.op.Name == "dp4a" {
		l.simple3(i, t, lane3(func(a, b, c uint32) uint32 {
			for k := range 4 {
				c += uint32(byteOf(a, k, sa) * byteOf(b, k, sb))
			}
			return c
		}))
		return
	}
	from := 0
	if f.has(flagHi) {
		from = 2
	}
	l.simple3(i, t, lane3(func(a, b, c uint32) uint32 {
		for k := range 2 {
			h := int32(uint16(a >> (16 * k)))
			if sa {
				h = int32(int16(a >> (16 * k)))
			}
			c += uint32(h * byteOf(b, from+k, sb))
		}
		return c
	}))
}
