package vm

import "github.com/purecuda/cuda/ptx"

func init() {
	register(lowerSetp, "setp")
	register(lowerSet, "set")
}

// compare has a loop for each of these comparisons. All other comparisons are derived from them.
const (
	cmpEQ = iota
	cmpNE // for floating point: ordered and not equal
	cmpLT
	cmpLE
	cmpGT
	cmpGE
	cmpNum
	cmpOps
	cmpInvert = 16
)

// comparison returns the number of the named comparison for types of kind k. If types of that kind
// do not support it, ok is false.
func comparison(name string, k ptx.TypeKind) (op uint16, ok bool) {
	float := k == ptx.KindFloat
	switch name {
	case "eq":
		return cmpEQ, true
	case "ne":
		return cmpNE, true
	}
	if k == ptx.KindBits {
		return 0, false
	}
	switch name {
	case "lt":
		return cmpLT, true
	case "le":
		return cmpLE, true
	case "gt":
		return cmpGT, true
	case "ge":
		return cmpGE, true
	case "lo":
		return cmpLT, k == ptx.KindUnsigned
	case "ls":
		return cmpLE, k == ptx.KindUnsigned
	case "hi":
		return cmpGT, k == ptx.KindUnsigned
	case "hs":
		return cmpGE, k == ptx.KindUnsigned
	case "equ":
		return cmpNE | cmpInvert, float
	case "neu":
		return cmpEQ | cmpInvert, float
	case "ltu":
		return cmpGE | cmpInvert, float
	case "leu":
		return cmpGT | cmpInvert, float
	case "gtu":
		return cmpLE | cmpInvert, float
	case "geu":
		return cmpLT | cmpInvert, float
	case "num":
		return cmpNum, float
	case "nan":
		return cmpNum | cmpInvert, float
	}
	return 0, false
}

// compare returns a mask with the result of each lane, active or not.
//
//go:norace
func compare[T word](op uint16, a, b *[lanes]T) uint32 {
	var r uint32
	switch op &^ cmpInvert {
	case cmpEQ:
		for i := range a {
			r = r>>1 | b2u(a[i] == b[i])<<31
		}
	case cmpNE:
		for i := range a {
			r = r>>1 | b2u(a[i] < b[i] || a[i] > b[i])<<31
		}
	case cmpLT:
		for i := range a {
			r = r>>1 | b2u(a[i] < b[i])<<31
		}
	case cmpLE:
		for i := range a {
			r = r>>1 | b2u(a[i] <= b[i])<<31
		}
	case cmpGT:
		for i := range a {
			r = r>>1 | b2u(a[i] > b[i])<<31
		}
	case cmpGE:
		for i := range a {
			r = r>>1 | b2u(a[i] >= b[i])<<31
		}
	case cmpNum:
		for i := range a {
			r = r>>1 | b2u(a[i] == a[i] && b[i] == b[i])<<31
		}
	}
	if op&cmpInvert != 0 {
		return ^r
	}
	return r
}

//go:norace
//go:nocheckptr
func execCompare[T word](w *warp, in *inst, m uint32) {
	r := compare(in.aux, col[T](w, in.a), col[T](w, in.b))
	w.pr[in.d] = w.pr[in.d]&^m | r&m
}

//go:norace
func (w *warp) setPred(in *inst, r, m uint32) {
	w.pr[in.d] = w.pr[in.d]&^m | r&m
}

// compareFor returns the instruction that compares values of type t, or nil. It compares 16-bit
// types as 32-bit values (see widened).
func compareFor(t ptx.Type) execFunc {
	switch t {
	case ptx.S32, ptx.S16:
		return execCompare[int32]
	case ptx.U32, ptx.B32, ptx.U16, ptx.B16:
		return execCompare[uint32]
	case ptx.S64:
		return execCompare[int64]
	case ptx.U64, ptx.B64:
		return execCompare[uint64]
	case ptx.F32, ptx.F16, ptx.BF16:
		return execCompare[float32]
	case ptx.F64:
		return execCompare[float64]
	}
	return nil
}

// widened converts a 16-bit operand to 32 bits, and flushes an f32 operand if ftz is set.
func (l *lowerer) widened(r reg, t ptx.Type, ftz bool) reg {
	var exec execFunc
	switch {
	case t == ptx.S16:
		exec = lane1(func(a uint32) uint32 { return uint32(int32(int16(a))) })
	case t == ptx.U16 || t == ptx.B16:
		exec = lane1(func(a uint32) uint32 { return a & 0xffff })
	case t == ptx.F16:
		exec = lane1(func(a uint32) float32 { return halfToF32(a, ftz) })
	case t == ptx.BF16:
		exec = lane1(func(a uint32) uint32 { return a << 16 })
	case t == ptx.F32 && ftz:
		exec = lane1(flush)
	default:
		return r
	}
	d := l.newReg(class32)
	l.emit(exec, d, r)
	return d
}

// compareRegs emits a comparison of two operands and returns the predicate that holds the result.
func (l *lowerer) compareRegs(x, y ptx.Operand, t ptx.Type, f *form) reg {
	op, ok := comparison(f.cmp, t.Kind())
	exec := compareFor(t)
	p := l.newReg(classPred)
	if !ok || exec == nil {
		l.bad("comparison .%s of type .%s is not possible", f.cmp, t)
		return p
	}
	a := l.widened(l.src(x, t), t, f.has(flagFtz))
	b := l.widened(l.src(y, t), t, f.has(flagFtz))
	l.emit(exec, p, a, b).in.aux = op
	return p
}

func lowerSetp(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 4) || !f.only(flagFtz) {
		l.unsupported()
		return
	}
	if t := f.typ(); t == ptx.F16x2 || t == ptx.BF16x2 {
		l.setp16x2(i, f)
		return
	}
	p := l.compareRegs(i.Args[1], i.Args[2], f.typ(), f)
	if l.failed {
		return
	}
	pair, _ := i.Args[0].(*ptx.Pair)
	if pair == nil && len(i.Args) == 3 { // in the usual case, write the destination directly
		d := l.dst(i.Args[0], ptx.Pred)
		n := l.code[len(l.code)-1]
		for k := range n.refs {
			if n.refs[k].def {
				n.refs[k].reg = d
			}
		}
		return
	}
	c, not := reg{}, false
	op := boolOp(f.bool)
	if len(i.Args) == 4 {
		c, not = l.pred(i.Args[3])
	} else {
		c, op = p, boolNone
	}
	dp, dq := i.Args[0], ptx.Operand(nil)
	if pair != nil {
		dp, dq = pair.A, pair.B
	}
	// c may be one of the destinations, so both results are computed before either is written.
	r, s := l.newReg(classPred), l.newReg(classPred)
	n := l.emit(execLogicPred, r, p, c)
	n.in.aux, n.in.imm = op, b2u64(not)<<1
	if dq != nil {
		n = l.emit(execLogicPred, s, p, c)
		n.in.aux, n.in.imm = op, 1|b2u64(not)<<1
		l.emit(execMovPred, l.dst(dq, ptx.Pred), s)
	}
	l.emit(execMovPred, l.dst(dp, ptx.Pred), r)
}

func lowerSet(l *lowerer, i *ptx.Instr, f *form) {
	if !l.args(i, 3, 4) || len(f.types) != 2 || !f.only(flagFtz) {
		l.unsupported()
		return
	}
	dt, t := f.types[0], f.types[1]
	if t == ptx.F16x2 || t == ptx.BF16x2 {
		l.set16x2(i, f)
		return
	}
	p := l.compareRegs(i.Args[1], i.Args[2], t, f)
	if len(i.Args) == 4 {
		c, not := l.pred(i.Args[3])
		q := l.newReg(classPred)
		n := l.emit(execLogicPred, q, p, c)
		n.in.aux, n.in.imm = boolOp(f.bool), b2u64(not)<<1
		p = q
	}
	yes := uint64(0xffffffff)
	switch dt {
	case ptx.F32:
		yes = 0x3f800000
	case ptx.F16:
		yes = 0x3c00
	case ptx.BF16:
		yes = 0x3f80
	case ptx.U16, ptx.S16:
		yes = 0xffff
	case ptx.U32, ptx.S32:
	default:
		l.bad("result of type .%s is not possible", dt)
		return
	}
	l.emit(execSelp[uint32], l.dst(i.Args[0], dt), l.constant(class32, yes), l.constant(class32, 0), p)
}
