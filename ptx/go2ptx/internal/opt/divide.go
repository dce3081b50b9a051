package opt

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// divideByConstants replaces divisions by constants with cheaper instructions. It handles powers of
// two, and 32-bit dividends that are unsigned or known not to be negative.
func divideByConstants(f *ir.Func) int {
	n := 0
	s := &simplifier{f: f, to: forward{}}
	for _, b := range f.ReversePostorder() {
		s.out = make([]*ir.Value, 0, len(b.Values))
		for _, v := range b.Values {
			s.at = v
			s.to.operands(v)
			if r := s.divide(v); r != nil {
				s.to[v] = r
				n++
				continue
			}
			s.out = append(s.out, v)
		}
		b.Values = s.out
		s.to.term(b)
	}
	s.to.apply(f)
	return n
}

func (s *simplifier) divide(v *ir.Value) *ir.Value {
	if v.Op < ir.OpSDiv || v.Op > ir.OpURem || !isConst(v.Args[1]) {
		return nil
	}
	a, t, c := v.Args[0], v.Type, v.Args[1].Aux
	signed := v.Op == ir.OpSDiv || v.Op == ir.OpSRem
	rem := v.Op == ir.OpSRem || v.Op == ir.OpURem
	if signed && rangeOf(a, 6).lo >= 0 && c > 0 {
		signed = false
	}
	switch {
	case c <= 0:
		return nil
	case c == 1 && rem:
		return s.constant(t, 0)
	case c == 1:
		return a
	}
	var q *ir.Value
	switch k := int64(bits.TrailingZeros64(uint64(c))); {
	case c&(c-1) == 0 && !signed && rem:
		return s.op(ir.OpAnd, t, 0, a, s.constant(t, c-1))
	case c&(c-1) == 0 && !signed:
		return s.op(ir.OpLShr, t, 0, a, s.constant(ir.TI32, k))
	case c&(c-1) == 0:
		// A shift rounds down, but division rounds toward zero. Adding c-1 to a negative dividend
		// makes up for the difference.
		width := int64(t.Kind.Bits())
		sign := s.op(ir.OpAShr, t, 0, a, s.constant(ir.TI32, width-1))
		bias := s.op(ir.OpLShr, t, 0, sign, s.constant(ir.TI32, width-k))
		q = s.op(ir.OpAShr, t, 0, s.op(ir.OpAdd, t, 0, a, bias), s.constant(ir.TI32, k))
	case t == ir.TI32 && !signed:
		q = s.magic(a, uint64(uint32(c)))
	default:
		return nil
	}
	if !rem {
		return q
	}
	return s.op(ir.OpSub, t, 0, a, s.op(ir.OpMul, t, 0, q, s.constant(t, c)))
}

// magic divides an unsigned 32-bit value by c, which is not a power of two, by multiplying with
// ceil(2^(32+l)/c), where 2^l > c. The multiplier has 33 bits. Its highest bit is accounted for by
// a separate addition that cannot overflow.
func (s *simplifier) magic(a *ir.Value, c uint64) *ir.Value {
	l := int64(bits.Len64(c))
	m := s.constant(ir.TI32, int64((uint64(1)<<l-c)<<32/c+1))
	t := s.op(ir.OpMulHiU, ir.TI32, 0, a, m)
	half := s.op(ir.OpLShr, ir.TI32, 0, s.op(ir.OpSub, ir.TI32, 0, a, t), s.constant(ir.TI32, 1))
	return s.op(ir.OpLShr, ir.TI32, 0, s.op(ir.OpAdd, ir.TI32, 0, half, t), s.constant(ir.TI32, l-1))
}
