package opt

import (
	"math"
	"math/bits"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// simplify evaluates constant expressions and replaces instructions with simpler ones.
func simplify(f *ir.Func) int {
	n := 0
	for range 8 {
		s := &simplifier{f: f, to: forward{}}
		for _, b := range f.ReversePostorder() {
			s.block(b)
		}
		s.to.apply(f)
		if s.n == 0 {
			break
		}
		n += s.n
	}
	return n
}

type simplifier struct {
	f   *ir.Func
	to  forward
	n   int
	at  *ir.Value   // the instruction being simplified
	out []*ir.Value // instructions of the block up to at
}

func (s *simplifier) block(b *ir.Block) {
	s.out = make([]*ir.Value, 0, len(b.Values)+4)
	for _, v := range b.Values {
		s.at = v
		s.to.operands(v)
		if v.Op == ir.OpCheck && v.Args[0].IsConst(1) {
			s.n++
			continue
		}
		if r := s.value(v); r != nil && r != v {
			s.n++
			s.to[v] = r
			continue
		}
		s.out = append(s.out, v)
	}
	b.Values = s.out
	s.to.term(b)
}

// op inserts an instruction before the one being simplified.
func (s *simplifier) op(op ir.Op, t ir.Type, aux int64, args ...*ir.Value) *ir.Value {
	v := s.f.NewValue(op, t, args...)
	v.Aux, v.Pos, v.Block = aux, s.at.Pos, s.at.Block
	if r := s.fold(v); r != nil {
		return r
	}
	s.out = append(s.out, v)
	return v
}

func (s *simplifier) constant(t ir.Type, bits int64) *ir.Value { return s.f.Const(t, bits) }

// fold evaluates an instruction whose operands are all constants.
func (s *simplifier) fold(v *ir.Value) *ir.Value {
	if len(v.Args) == 0 || v.Effects() != 0 || v.Op == ir.OpPhi || v.Type.Kind == ir.Ptr {
		return nil
	}
	args := make([]int64, len(v.Args))
	for i, a := range v.Args {
		if !isConst(a) {
			return nil
		}
		args[i] = a.Aux
	}
	if r, ok := ir.Eval(v, args); ok {
		return s.constant(v.Type, r)
	}
	return nil
}

// value returns a replacement for v, or nil. It may also change v in place.
func (s *simplifier) value(v *ir.Value) *ir.Value {
	if r := s.fold(v); r != nil {
		return r
	}
	if v.Op.Commutes() && isConst(v.Args[0]) && !isConst(v.Args[1]) {
		v.Args[0], v.Args[1] = v.Args[1], v.Args[0]
		s.n++
	}
	switch v.Op {
	case ir.OpCopy:
		return v.Args[0]
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpShl, ir.OpLShr, ir.OpAShr:
		return s.arithmetic(v)
	case ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpNot:
		return s.logic(v)
	case ir.OpSMin, ir.OpSMax, ir.OpUMin, ir.OpUMax:
		return extreme(v)
	case ir.OpICmp:
		return s.compare(v)
	case ir.OpSelect:
		return s.choice(v)
	case ir.OpSExt8, ir.OpSExt16, ir.OpZExt8, ir.OpZExt16, ir.OpTrunc, ir.OpSExt32, ir.OpZExt32:
		return s.width(v)
	case ir.OpPtrAdd:
		return s.pointer(v)
	case ir.OpLoad, ir.OpStore, ir.OpLoadV, ir.OpStoreV, ir.OpAtomic, ir.OpCAS:
		return s.access(v)
	case ir.OpSpaceCast, ir.OpBitcast:
		if a := v.Args[0]; a.Op == v.Op && a.Args[0].Type == v.Type {
			return a.Args[0]
		}
		if v.Type.Kind.Bits() == 16 && keepsLow(v.Args[0]) {
			v.Args[0] = v.Args[0].Args[0]
			s.n++
		}
	case ir.OpFConv:
		// The bits of a bf16 are the upper half of those of the same f32.
		if a := v.Args[0]; v.Type == ir.TF32 && a.Type == ir.TBF16 && a.Op == ir.OpBitcast {
			return s.op(ir.OpBitcast, v.Type, 0, s.op(ir.OpShl, ir.TI32, 0, a.Args[0], s.constant(ir.TI32, 16)))
		}
	case ir.OpFNeg, ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFDiv:
		return s.float(v)
	}
	return nil
}

// extreme returns the operand that must be the minimum or maximum, according to the ranges of both
// operands, or nil. This removes, for example, the limit of a shift count if the count is t.Lane().
func extreme(v *ir.Value) *ir.Value {
	low, high := v.Args[0], v.Args[1]
	a, b := rangeOf(low, 6), rangeOf(high, 6)
	unsigned := v.Op == ir.OpUMin || v.Op == ir.OpUMax
	switch {
	case low == high:
		return low
	case unsigned && min(a.lo, b.lo) < 0:
		return nil
	case a.hi <= b.lo:
	case b.hi <= a.lo:
		low, high = high, low
	default:
		return nil
	}
	if v.Op == ir.OpSMin || v.Op == ir.OpUMin {
		return low
	}
	return high
}

func (s *simplifier) arithmetic(v *ir.Value) *ir.Value {
	a, b, t := v.Args[0], v.Args[1], v.Type
	if v.Op == ir.OpSub && a == b {
		return s.constant(t, 0)
	}
	if t == ir.TI64 {
		if r := s.multiple(v); r != nil {
			return r
		}
	}
	if !isConst(b) {
		return nil
	}
	c := b.Aux
	inner := func(op ir.Op) bool { return a.Op == op && isConst(a.Args[1]) }
	switch v.Op {
	case ir.OpSub:
		return s.op(ir.OpAdd, t, 0, a, s.constant(t, -c))
	case ir.OpAdd:
		if c == 0 {
			return a
		}
		if inner(ir.OpAdd) {
			return s.op(ir.OpAdd, t, 0, a.Args[0], s.constant(t, c+a.Args[1].Aux))
		}
	case ir.OpMul:
		return s.multiply(v, a, c)
	default:
		n := uint64(uint32(c))
		if n == 0 {
			return a
		}
		if n >= uint64(t.Kind.Bits()) && v.Op != ir.OpAShr {
			return s.constant(t, 0)
		}
		if t == ir.TI32 && v.Op == ir.OpShl {
			switch {
			case n == 16 && keepsLow(a):
				v.Args[0] = a.Args[0]
				s.n++
			case a.Op == ir.OpLShr && a.Args[1].IsConst(c):
				return s.op(ir.OpAnd, t, 0, a.Args[0], s.constant(t, -1<<n))
			}
		}
		if v.Op == ir.OpShl && inner(ir.OpAdd) {
			return s.op(ir.OpAdd, t, 0, s.op(ir.OpShl, t, 0, a.Args[0], b), s.constant(t, a.Args[1].Aux<<n))
		}
	}
	return nil
}

func (s *simplifier) multiply(v, a *ir.Value, c int64) *ir.Value {
	t := v.Type
	switch {
	case c == 0:
		return v.Args[1]
	case c == 1:
		return a
	case c == -1:
		return s.op(ir.OpSub, t, 0, s.constant(t, 0), a)
	case c > 0 && c&(c-1) == 0:
		return s.op(ir.OpShl, t, 0, a, s.constant(ir.TI32, int64(bits.TrailingZeros64(uint64(c)))))
	case a.Op == ir.OpMul && isConst(a.Args[1]):
		return s.op(ir.OpMul, t, 0, a.Args[0], s.constant(t, c*a.Args[1].Aux))
	case a.Op == ir.OpAdd && isConst(a.Args[1]):
		return s.op(ir.OpAdd, t, 0, s.op(ir.OpMul, t, 0, a.Args[0], s.constant(t, c)), s.constant(t, c*a.Args[1].Aux))
	}
	return nil
}

var swapped = [...]ir.Cond{ir.Eq: ir.Eq, ir.Ne: ir.Ne, ir.SLt: ir.SGt, ir.SLe: ir.SGe, ir.SGt: ir.SLt, ir.SGe: ir.SLe,
	ir.ULt: ir.UGt, ir.ULe: ir.UGe, ir.UGt: ir.ULt, ir.UGe: ir.ULe}

func (s *simplifier) logic(v *ir.Value) *ir.Value {
	a, t := v.Args[0], v.Type
	if v.Op == ir.OpNot {
		switch {
		case a.Op == ir.OpNot:
			return a.Args[0]
		case a.Op == ir.OpICmp:
			return s.op(ir.OpICmp, t, int64(ir.Inverse[a.Aux]), a.Args[0], a.Args[1])
		case a.Op == ir.OpFCmp && ir.Cond(a.Aux) <= ir.Ne:
			return s.op(ir.OpFCmp, t, int64(ir.Inverse[a.Aux]), a.Args[0], a.Args[1])
		}
		return nil
	}
	b := v.Args[1]
	if a == b {
		if v.Op == ir.OpXor {
			return s.constant(t, 0)
		}
		return a
	}
	if !isConst(b) {
		return nil
	}
	ones := b.IsConst(-1)
	switch {
	case b.Aux == 0 && v.Op == ir.OpAnd, ones && v.Op == ir.OpOr:
		return b
	case b.Aux == 0, ones && v.Op == ir.OpAnd:
		return a
	case ones && v.Op == ir.OpXor:
		return s.op(ir.OpNot, t, 0, a)
	case a.Op == v.Op && isConst(a.Args[1]):
		return s.op(v.Op, t, 0, a.Args[0], s.op(v.Op, t, 0, a.Args[1], b))
	}
	return nil
}

func (s *simplifier) compare(v *ir.Value) *ir.Value {
	a, b, c := v.Args[0], v.Args[1], ir.Cond(v.Aux)
	if isConst(a) && !isConst(b) {
		v.Args[0], v.Args[1], v.Aux = b, a, int64(swapped[c])
		s.n++
		a, b, c = v.Args[0], v.Args[1], ir.Cond(v.Aux)
	}
	if a == b {
		yes := c == ir.Eq || c == ir.SLe || c == ir.SGe || c == ir.ULe || c == ir.UGe
		if yes {
			return s.constant(ir.TBool, 1)
		}
		return s.constant(ir.TBool, 0)
	}
	if a.Type == ir.TBool && isConst(b) {
		if (b.Aux != 0) == (c == ir.Eq) {
			return a
		}
		return s.op(ir.OpNot, ir.TBool, 0, a)
	}
	if r := s.compareExtended(a, b, c); r != nil {
		return r
	}
	if isConst(b) && a.Op == ir.OpAdd && isConst(a.Args[1]) && c <= ir.Ne {
		return s.op(ir.OpICmp, ir.TBool, int64(c), a.Args[0], s.constant(b.Type, b.Aux-a.Args[1].Aux))
	}
	return nil
}

// compareExtended replaces a comparison of 64-bit values that were extended from 32 bits with a
// 32-bit comparison.
func (s *simplifier) compareExtended(a, b *ir.Value, c ir.Cond) *ir.Value {
	signed, unsigned := a.Op == ir.OpSExt32, a.Op == ir.OpZExt32
	if !signed && !unsigned {
		return nil
	}
	var low *ir.Value
	switch {
	case b.Op == a.Op:
		low = b.Args[0]
	case isConst(b) && signed && b.Aux == int64(int32(b.Aux)), isConst(b) && unsigned && b.Aux == int64(uint32(b.Aux)):
		low = s.constant(ir.TI32, b.Aux)
	default:
		return nil
	}
	if unsigned && c >= ir.SLt && c <= ir.SGe {
		c += ir.ULt - ir.SLt
	}
	// Sign extension preserves the unsigned order, too.
	return s.op(ir.OpICmp, ir.TBool, int64(c), a.Args[0], low)
}

func (s *simplifier) choice(v *ir.Value) *ir.Value {
	c, a, b := v.Args[0], v.Args[1], v.Args[2]
	switch {
	case a == b || isConst(a) && isConst(b) && a.Aux == b.Aux:
		return a
	case isConst(c) && c.Aux != 0:
		return a
	case isConst(c):
		return b
	case c.Op == ir.OpNot:
		v.Args = []*ir.Value{c.Args[0], b, a}
		s.n++
	case v.Type == ir.TBool && a.IsConst(1):
		return s.op(ir.OpOr, ir.TBool, 0, c, b)
	case v.Type == ir.TBool && b.IsConst(0):
		return s.op(ir.OpAnd, ir.TBool, 0, c, a)
	case v.Type == ir.TBool && a.IsConst(0):
		return s.op(ir.OpAnd, ir.TBool, 0, s.op(ir.OpNot, ir.TBool, 0, c), b)
	case v.Type == ir.TBool && b.IsConst(1):
		return s.op(ir.OpOr, ir.TBool, 0, s.op(ir.OpNot, ir.TBool, 0, c), a)
	}
	return nil
}

func (s *simplifier) width(v *ir.Value) *ir.Value {
	a := v.Args[0]
	if v.Op == ir.OpTrunc {
		switch a.Op {
		case ir.OpSExt32, ir.OpZExt32:
			return a.Args[0]
		}
		return nil
	}
	r := rangeOf(a, 4)
	switch v.Op {
	case ir.OpSExt8:
		return keepIf(a, r.within(math.MinInt8, math.MaxInt8))
	case ir.OpSExt16:
		return keepIf(a, r.within(math.MinInt16, math.MaxInt16))
	case ir.OpZExt8:
		return keepIf(a, r.within(0, math.MaxUint8))
	case ir.OpZExt16:
		return keepIf(a, r.within(0, math.MaxUint16))
	}
	return nil
}

// keepsLow reports whether v has the same 16 low bits as its first operand.
func keepsLow(v *ir.Value) bool { return keepsBits(v, 0xffff) }

func keepIf(v *ir.Value, ok bool) *ir.Value {
	if ok {
		return v
	}
	return nil
}

// pointer rearranges address computations so that a constant offset is added last. An access can
// then absorb it.
func (s *simplifier) pointer(v *ir.Value) *ir.Value {
	p, x, t := v.Args[0], v.Args[1], v.Type
	add := func(p *ir.Value, x *ir.Value) *ir.Value { return s.op(ir.OpPtrAdd, t, 0, p, x) }
	inner := p.Op == ir.OpPtrAdd && isConst(p.Args[1])
	switch {
	case x.IsConst(0):
		return p
	case inner && isConst(x):
		return add(p.Args[0], s.constant(ir.TI64, x.Aux+p.Args[1].Aux))
	case inner:
		return add(add(p.Args[0], x), p.Args[1])
	case x.Op == ir.OpAdd && isConst(x.Args[1]):
		return add(add(p, x.Args[0]), x.Args[1])
	}
	return nil
}

// access moves a constant offset from the address to the access itself. It also evaluates loads
// from constant tables.
func (s *simplifier) access(v *ir.Value) *ir.Value {
	if v.Op == ir.OpStore || v.Op == ir.OpStoreV {
		s.stored(v)
	}
	p := v.Args[0]
	if p.Op == ir.OpPtrAdd && isConst(p.Args[1]) && small(v.Aux+p.Args[1].Aux) && small(p.Args[1].Aux) {
		v.Aux += p.Args[1].Aux
		v.Args[0] = p.Args[0]
		s.n++
		p = v.Args[0]
	}
	if v.Op != ir.OpLoad || p.Op != ir.OpGlobal || p.Var.Space != ir.Const || p.Var.Visible || p.Var.Init == nil {
		return nil
	}
	size := int64(v.Mem.Size())
	if v.Aux < 0 || v.Aux+size > int64(len(p.Var.Init)) || v.Type.Kind == ir.Ptr {
		return nil
	}
	var x uint64
	for i := range size {
		x |= uint64(p.Var.Init[v.Aux+i]) << (8 * i)
	}
	switch v.Mem {
	case ir.MS8:
		x = uint64(int8(x))
	case ir.MS16:
		x = uint64(int16(x))
	case ir.MBool:
		x = min(x, 1)
	}
	return s.constant(v.Type, int64(x))
}

// stored removes operations that only change bits which a store does not write.
func (s *simplifier) stored(v *ir.Value) {
	var mask int64
	switch v.Mem {
	case ir.MS8, ir.MU8:
		mask = 0xff
	case ir.MS16, ir.MU16:
		mask = 0xffff
	default:
		return
	}
	for i, a := range v.Args[1 : 1+max(v.N, 1)] {
		for keepsBits(a, mask) {
			a = a.Args[0]
			v.Args[1+i] = a
			s.n++
		}
	}
}

// keepsBits reports whether v has the same bits of a mask of 8 or 16 low bits as its first operand.
func keepsBits(v *ir.Value, mask int64) bool {
	switch v.Op {
	case ir.OpZExt8, ir.OpSExt8:
		return mask == 0xff
	case ir.OpZExt16, ir.OpSExt16:
		return true
	}
	return v.Op == ir.OpAnd && v.Type == ir.TI32 && isConst(v.Args[1]) && v.Args[1].Aux&mask == mask
}

func small(offset int64) bool { return offset >= math.MinInt32 && offset <= math.MaxInt32 }

// float only makes changes that are exact for all values, including signed zeros.
func (s *simplifier) float(v *ir.Value) *ir.Value {
	a := v.Args[0]
	if v.Op == ir.OpFNeg {
		if a.Op == ir.OpFNeg {
			return a.Args[0]
		}
		return nil
	}
	b := v.Args[1]
	if !isConst(b) {
		return nil
	}
	one, minus0 := oneBits(v.Type.Kind), int64(uint64(1)<<(v.Type.Kind.Bits()-1))
	switch {
	case v.Op == ir.OpFAdd && b.Aux == ir.Canonical(v.Type.Kind, minus0) && v.Round != ir.RM, v.Op == ir.OpFSub && b.Aux == 0 && v.Round != ir.RM,
		(v.Op == ir.OpFMul || v.Op == ir.OpFDiv) && b.Aux == one:
		return a
	case v.Op == ir.OpFDiv:
		return s.reciprocal(v, b)
	}
	return nil
}

// reciprocal replaces a division by a power of two with a multiplication.
func (s *simplifier) reciprocal(v, b *ir.Value) *ir.Value {
	var r int64
	switch v.Type.Kind {
	case ir.F32:
		x := math.Float32frombits(uint32(b.Aux))
		if m, e := math.Frexp(float64(x)); math.Abs(m) != 0.5 || e < -120 || e > 120 {
			return nil
		}
		r = int64(math.Float32bits(1 / x))
	case ir.F64:
		x := math.Float64frombits(uint64(b.Aux))
		if m, e := math.Frexp(x); math.Abs(m) != 0.5 || e < -1000 || e > 1000 {
			return nil
		}
		r = int64(math.Float64bits(1 / x))
	default:
		return nil
	}
	m := s.op(ir.OpFMul, v.Type, 0, v.Args[0], s.constant(v.Type, r))
	m.Round = v.Round
	return m
}

func oneBits(k ir.Kind) int64 {
	return map[ir.Kind]int64{ir.F16: 0x3c00, ir.BF16: 0x3f80, ir.F32: 0x3f800000, ir.F64: 0x3ff << 52}[k]
}
