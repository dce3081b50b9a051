package vm

import (
	"math/bits"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// Logic, shifts and bit manipulation.

func init() {
	register(lowerLogic, "and", "or", "xor")
	register(lowerNot, "not", "cnot")
	register(lowerShift, "shl", "shr")
	register(lowerFunnel, "shf")
	register(lowerLop3, "lop3")
	register(lowerPrmt, "prmt")
	register(lowerCount, "popc", "clz", "brev", "bfind")
	register(lowerField, "bfe", "bfi", "bmsk", "szext", "fns")
}

func lowerLogic(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 3) || !f.only(0) {
		l.unsupported()
		return
	}
	t := f.typ()
	if t == ptx.Pred {
		l.logicPred(i, f.op.Name)
		return
	}
	var e32, e64 execFunc
	switch f.op.Name {
	case "and":
		e32, e64 = execAnd[uint32], execAnd[uint64]
	case "or":
		e32, e64 = execOr[uint32], execOr[uint64]
	case "xor":
		e32, e64 = execXor[uint32], execXor[uint64]
	}
	if classOf(t) == class64 {
		e32 = e64
	}
	l.simple2(i, t, e32)
}

func (l *lowerer) logicPred(i *ptx.Instr, name string) {
	a, na := l.pred(i.Args[1])
	b, nb := l.pred(i.Args[2])
	n := l.emit(execLogicPred, l.dst(i.Args[0], ptx.Pred), a, b)
	n.in.imm = b2u64(na) | b2u64(nb)<<1
	n.in.aux = boolOp(name)
}

func boolOp(name string) uint16 {
	switch name {
	case "and":
		return boolAnd
	case "or":
		return boolOr
	case "xor":
		return boolXor
	}
	return boolNone
}

const (
	boolNone = iota
	boolAnd
	boolOr
	boolXor
)

func combine(op uint16, a, b uint32) uint32 {
	switch op {
	case boolAnd:
		return a & b
	case boolOr:
		return a | b
	case boolXor:
		return a ^ b
	}
	return a
}

//go:norace
func execLogicPred(w *warp, in *inst, m uint32) {
	a, b := w.pr[in.a], w.pr[in.b]
	if in.imm&1 != 0 {
		a = ^a
	}
	if in.imm&2 != 0 {
		b = ^b
	}
	w.pr[in.d] = w.pr[in.d]&^m | combine(in.aux, a, b)&m
}

func lowerNot(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 2) || !f.only(0) {
		l.unsupported()
		return
	}
	t := f.typ()
	if t == ptx.Pred {
		a, not := l.pred(i.Args[1])
		exec := execNotPred
		if not {
			exec = execMovPred
		}
		l.emit(exec, l.dst(i.Args[0], t), a)
		return
	}
	var exec execFunc
	switch cnot := f.op.Name == "cnot"; {
	case cnot && classOf(t) == class64:
		exec = lane1(func(a uint64) uint64 { return b2u64(a == 0) })
	case cnot:
		exec = lane1(func(a uint32) uint32 { return b2u(a == 0) })
	case classOf(t) == class64:
		exec = lane1(func(a uint64) uint64 { return ^a })
	case t.Size() == 2:
		exec = lane1(func(a uint32) uint32 { return ^a & 0xffff })
	default:
		exec = lane1(func(a uint32) uint32 { return ^a })
	}
	a := l.src(i.Args[1], t)
	l.emit(exec, l.dst(i.Args[0], t), a)
}

func lowerShift(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 3) || !f.only(0) {
		l.unsupported()
		return
	}
	t := f.typ()
	var exec execFunc
	if f.op.Name == "shl" {
		switch t.Size() {
		case 2:
			exec = lane2(func(a, b uint32) uint32 { return a << b & 0xffff })
		case 4:
			exec = execShl[uint32]
		case 8:
			exec = execShl[uint64]
		}
	} else {
		ops := intOps{execShr[uint32], lane2(func(a, b uint32) uint32 { return uint32(int32(int16(a))>>b) & 0xffff }),
			execShr[uint32], execShr[int32], execShr[uint64], execShr[int64]}
		exec = ops.pick(t)
	}
	if exec == nil {
		l.bad("type .%s is not possible", t)
		return
	}
	a, b := l.src(i.Args[1], t), l.src(i.Args[2], ptx.U32)
	l.emit(exec, l.dst(i.Args[0], t), a, b)
}

func lowerFunnel(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 4, 4) || len(f.rest) != 2 || f.typ() != ptx.B32 {
		l.unsupported()
		return
	}
	left, clamp := f.rest[0] == "l", f.rest[1] == "clamp"
	amount := func(c uint32) uint32 {
		if clamp {
			return min(c, 32)
		}
		return c & 31
	}
	exec := lane3(func(a, b, c uint32) uint32 { return uint32((uint64(b)<<32 | uint64(a)) >> amount(c)) })
	if left {
		exec = lane3(func(a, b, c uint32) uint32 { return uint32((uint64(b)<<32 | uint64(a)) << amount(c) >> 32) })
	}
	l.simple3(i, ptx.B32, exec)
}

// lop3 computes a function of three bits at each bit position. table defines the function.
func lop3(a, b, c uint32, table uint8) uint32 {
	var r uint32
	if table&0x01 != 0 {
		r |= ^a & ^b & ^c
	}
	if table&0x02 != 0 {
		r |= ^a & ^b & c
	}
	if table&0x04 != 0 {
		r |= ^a & b & ^c
	}
	if table&0x08 != 0 {
		r |= ^a & b & c
	}
	if table&0x10 != 0 {
		r |= a & ^b & ^c
	}
	if table&0x20 != 0 {
		r |= a & ^b & c
	}
	if table&0x40 != 0 {
		r |= a & b & ^c
	}
	if table&0x80 != 0 {
		r |= a & b & c
	}
	return r
}

// lop3Func returns the function that executes lop3 with a fixed table. It has faster functions for
// common tables.
func lop3Func(table uint8) func(a, b, c uint32) uint32 {
	switch table {
	case 0x96:
		return func(a, b, c uint32) uint32 { return a ^ b ^ c }
	case 0xe8:
		return func(a, b, c uint32) uint32 { return a&b | c&(a|b) }
	case 0xca:
		return func(a, b, c uint32) uint32 { return a&b | ^a&c }
	case 0x80:
		return func(a, b, c uint32) uint32 { return a & b & c }
	case 0xfe:
		return func(a, b, c uint32) uint32 { return a | b | c }
	case 0xf8:
		return func(a, b, c uint32) uint32 { return a | b&c }
	case 0xea:
		return func(a, b, c uint32) uint32 { return a&b | c }
	}
	return func(a, b, c uint32) uint32 { return lop3(a, b, c, table) }
}

func lowerLop3(l *lowerer, i *ptx.Instr, f *form) {
	// The forms are lop3.b32 d, a, b, c, immLut and lop3.or.b32 d|p, a, b, c, immLut, q.
	if !l.args(i, 5, 6) || f.typ() != ptx.B32 {
		return
	}
	table, ok := i.Args[4].(*ptx.Imm)
	if !ok {
		l.bad("table is not an immediate")
		return
	}
	a, b, c := l.src(i.Args[1], ptx.B32), l.src(i.Args[2], ptx.B32), l.src(i.Args[3], ptx.B32)
	fn := lop3Func(uint8(table.Bits))
	if len(i.Args) == 5 && f.only(0) {
		l.emit(lane3(fn), l.dst(i.Args[0], ptx.B32), a, b, c)
		return
	}
	if len(f.rest) != 1 || len(i.Args) != 6 {
		l.unsupported()
		return
	}
	pair, ok := i.Args[0].(*ptx.Pair)
	if !ok {
		l.bad("destination is not a pair")
		return
	}
	q, not := l.pred(i.Args[5])
	d := l.newReg(class32)
	l.emit(lane3(fn), d, a, b, c)
	p := l.newReg(classPred)
	l.emit(pred1(func(x uint32) bool { return x != 0 }), p, d)
	n := l.emit(execLogicPred, l.dst(pair.B, ptx.Pred), p, q)
	n.in.aux, n.in.imm = boolOp(f.rest[0]), b2u64(not)<<1
	l.emit(execMov[uint32], l.dst(pair.A, ptx.B32), d)
}

// prmtIndex maps each special mode of prmt to its selectors, indexed by the two low bits of c.
var prmtIndex = map[string][4]uint32{
	"f4e": {0x3210, 0x4321, 0x5432, 0x6543}, "b4e": {0x5670, 0x6701, 0x7012, 0x0123},
	"rc8": {0x0000, 0x1111, 0x2222, 0x3333}, "ecl": {0x3210, 0x3211, 0x3222, 0x3333},
	"ecr": {0x0000, 0x1110, 0x2210, 0x3210}, "rc16": {0x1010, 0x3232, 0x1010, 0x3232},
}

func prmt(a, b, sel uint32) uint32 {
	x := uint64(b)<<32 | uint64(a)
	var r uint32
	for k := range 4 {
		s := sel >> (4 * k) & 0xf
		v := uint8(x >> (8 * (s & 7)))
		if s&8 != 0 {
			v = uint8(int8(v) >> 7)
		}
		r |= uint32(v) << (8 * k)
	}
	return r
}

func lowerPrmt(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 4, 4) || f.typ() != ptx.B32 || len(f.rest) > 1 || f.flags != 0 {
		l.unsupported()
		return
	}
	if len(f.rest) == 0 {
		l.simple3(i, ptx.B32, lane3(prmt))
		return
	}
	modes, ok := prmtIndex[f.rest[0]]
	if !ok {
		l.bad("mode .%s is not known", f.rest[0])
		return
	}
	l.simple3(i, ptx.B32, lane3(func(a, b, c uint32) uint32 { return prmt(a, b, modes[c&3]) }))
}

func lowerCount(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 2, 2) {
		return
	}
	t := f.typ()
	dt := ptx.U32
	var e32, e64 execFunc
	switch f.op.Name {
	case "popc":
		e32 = lane1(func(a uint32) uint32 { return uint32(bits.OnesCount32(a)) })
		e64 = lane1(func(a uint64) uint32 { return uint32(bits.OnesCount64(a)) })
	case "clz":
		e32 = lane1(func(a uint32) uint32 { return uint32(bits.LeadingZeros32(a)) })
		e64 = lane1(func(a uint64) uint32 { return uint32(bits.LeadingZeros64(a)) })
	case "brev":
		dt = t
		e32 = lane1(bits.Reverse32)
		e64 = lane1(bits.Reverse64)
	case "bfind":
		l.bfind(i, f)
		return
	}
	if !f.only(0) || t.Size() < 4 {
		l.unsupported()
		return
	}
	if classOf(t) == class64 {
		e32 = e64
	}
	a := l.src(i.Args[1], t)
	l.emit(e32, l.dst(i.Args[0], dt), a)
}

func (l *lowerer) bfind(i *ptx.Instr, f *form) {
	t := f.typ()
	shift := len(f.rest) == 1 && f.rest[0] == "shiftamt"
	if !shift && len(f.rest) != 0 || t.Size() < 4 {
		l.unsupported()
		return
	}
	signed := t.Kind() == ptx.KindSigned
	find := func(x uint64, size int) uint32 {
		n := bits.Len64(x)
		if n == 0 {
			return full
		}
		if shift {
			return uint32(size - n)
		}
		return uint32(n - 1)
	}
	exec := lane1(func(a uint32) uint32 {
		if signed && int32(a) < 0 {
			a = ^a
		}
		return find(uint64(a), 32)
	})
	if classOf(t) == class64 {
		exec = lane1(func(a uint64) uint32 {
			if signed && int64(a) < 0 {
				a = ^a
			}
			return find(a, 64)
		})
	}
	a := l.src(i.Args[1], t)
	l.emit(exec, l.dst(i.Args[0], ptx.U32), a)
}

func lowerField(l *lowerer, i *ptx.Instr, f *form) {
	t := f.typ()
	switch f.op.Name {
	case "bfe":
		l.bfe(i, f, t)
	case "bfi":
		l.bfi(i, f, t)
	case "bmsk":
		clamp := len(f.rest) == 1 && f.rest[0] == "clamp"
		if l.args(i, 3, 3) && t == ptx.B32 {
			l.simple2(i, t, lane2(func(a, b uint32) uint32 { return bitMask(a, b, clamp) }))
		}
	case "szext":
		clamp := len(f.rest) == 1 && f.rest[0] == "clamp"
		if l.args(i, 3, 3) && t.Size() == 4 {
			signed := t == ptx.S32
			l.simple2(i, t, lane2(func(a, b uint32) uint32 { return signExtendAt(a, b, clamp, signed) }))
		}
	case "fns":
		if l.args(i, 4, 4) {
			l.simple3(i, ptx.B32, lane3(findNth))
		}
	}
}

// bitMask returns a mask of b ones that starts at bit a.
func bitMask(a, b uint32, clamp bool) uint32 {
	if clamp {
		a, b = min(a, 32), min(b, 32)
	} else {
		a, b = a&31, b&31
	}
	return uint32((uint64(1)<<b - 1) << a)
}

// signExtendAt extends the low b bits of a to 32 bits. If signed is set, it extends their sign.
func signExtendAt(a, b uint32, clamp, signed bool) uint32 {
	if !clamp {
		b &= 31
	}
	switch {
	case b >= 32:
		return a
	case b == 0:
		return 0
	case signed:
		return uint32(int32(a<<(32-b)) >> (32 - b))
	}
	return a << (32 - b) >> (32 - b)
}

// findNth implements fns. It returns the position of the offset-th set bit of mask, counted from
// bit base upwards, or downwards if offset is negative. With an offset of 0, only bit base
// qualifies. If there is no such bit, findNth returns all ones. For the smallest offset, whose
// magnitude no int32 represents, it returns 0, as an H100 does.
func findNth(mask, base, offset uint32) uint32 {
	n := int32(offset)
	if n == -1<<31 {
		return 0
	}
	if n == 0 {
		if base < 32 && mask>>base&1 != 0 {
			return base
		}
		return full
	}
	step := int32(1)
	if n < 0 {
		step, n = -1, -n
	}
	for p := int32(base); p >= 0 && p < 32; p += step {
		if mask>>p&1 != 0 {
			if n--; n == 0 {
				return uint32(p)
			}
		}
	}
	return full
}

func (l *lowerer) bfe(i *ptx.Instr, f *form, t ptx.Type) {
	if !l.args(i, 4, 4) || !f.only(0) || t.Size() < 4 {
		l.unsupported()
		return
	}
	signed := t.Kind() == ptx.KindSigned
	exec := lane3(func(a, b, c uint32) uint32 {
		x := uint64(a)
		if signed {
			x = uint64(int64(int32(a)))
		}
		return uint32(bfe(x, b, c, 31, signed))
	})
	if classOf(t) == class64 {
		exec = lane3(func(a uint64, b, c uint32) uint64 { return bfe(a, b, c, 63, signed) })
	}
	a, b, c := l.src(i.Args[1], t), l.src(i.Args[2], ptx.U32), l.src(i.Args[3], ptx.U32)
	l.emit(exec, l.dst(i.Args[0], t), a, b, c)
}

// bfe extracts the field of c bits that starts at bit b of a. msb is the index of the type's
// highest bit. If signed is set, the field is sign-extended. Bits of the field beyond msb repeat
// the sign of a.
func bfe(a uint64, b, c, msb uint32, signed bool) uint64 {
	pos, length := fieldByte(b, msb), fieldByte(c, msb)
	if length == 0 {
		return 0
	}
	if !signed {
		return a >> pos & (1<<length - 1)
	}
	x := int64(a) >> pos
	if pos+length > msb {
		return uint64(x)
	}
	return uint64(x << (64 - length) >> (64 - length))
}

// fieldByte returns the position or length of a field. The ISA allows at most 255. The hardware
// uses the low byte for 32-bit operations and the whole value for 64-bit operations.
func fieldByte(x, msb uint32) uint32 {
	if msb == 63 {
		return min(x, 255)
	}
	return x & 0xff
}

func (l *lowerer) bfi(i *ptx.Instr, f *form, t ptx.Type) {
	if !l.args(i, 5, 5) || !f.only(0) || t.Size() < 4 {
		l.unsupported()
		return
	}
	a, b := l.src(i.Args[1], t), l.src(i.Args[2], t)
	c, d := l.src(i.Args[3], ptx.U32), l.src(i.Args[4], ptx.U32)
	exec := execBfi[uint32]
	if classOf(t) == class64 {
		exec = execBfi[uint64]
	}
	l.emit(exec, l.dst(i.Args[0], t), a, b, c, d)
}

//go:norace
//go:nocheckptr
func execBfi[T uint32 | uint64](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	c, n := &w.r32[in.c], &w.r32[in.x.regs[0]]
	msb := uint32(8*unsafe.Sizeof(d[0]) - 1)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		pos, length := fieldByte(c[i], msb), fieldByte(n[i], msb)
		mask := (T(1)<<length - 1) << pos
		d[i] = b[i]&^mask | a[i]<<pos&mask
	}
}
