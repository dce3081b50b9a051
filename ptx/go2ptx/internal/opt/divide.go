package opt

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// divideByConstants replaces divisions by constants with cheaper instructions. It handles powers of
// two, all 64-bit dividends, and 32-bit dividends that are unsigned or known not to be negative. Ptxas
// itself replaces the other 32-bit divisions. For a 64-bit one it calls a routine.
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
	if v.Op < ir.OpSDiv || v.Op > ir.OpURem || !isConst(v.Args[1]) || v.Args[1].Aux == 0 {
		return nil
	}
	a, t, c := v.Args[0], v.Type, v.Args[1].Aux
	rem := v.Op == ir.OpSRem || v.Op == ir.OpURem
	r := rangeOf(a, 6)
	var q *ir.Value
	if signed := v.Op == ir.OpSDiv || v.Op == ir.OpSRem; signed && (r.lo < 0 || c < 0) {
		if rem && c < 0 {
			c = -c // a % -c is a % c
		}
		if rem && c == 1 {
			return s.constant(t, 0)
		}
		q = s.signedQuotient(a, c)
	} else {
		d := uint64(c)
		if t == ir.TI32 {
			d = uint64(uint32(c))
		}
		if rem && d&(d-1) == 0 {
			return s.op(ir.OpAnd, t, 0, a, s.constant(t, c-1))
		}
		q = s.unsignedQuotient(a, d, r)
	}
	if q == nil || !rem {
		return q
	}
	return s.op(ir.OpSub, t, 0, a, s.op(ir.OpMul, t, 0, q, s.constant(t, c)))
}

// unsignedQuotient divides a, which has the range r, by c.
func (s *simplifier) unsignedQuotient(a *ir.Value, c uint64, r interval) *ir.Value {
	if c&(c-1) == 0 {
		return s.shift(ir.OpLShr, a, bits.TrailingZeros64(c))
	}
	most := ^uint64(0) >> (64 - a.Type.Kind.Bits()) // the largest dividend
	if r.lo >= 0 {
		most = min(most, uint64(r.hi))
	}
	switch {
	case most < c:
		return s.constant(a.Type, 0)
	case a.Type == ir.TI64 && most < 1<<32:
		low := s.op(ir.OpTrunc, ir.TI32, 0, a)
		return s.op(ir.OpZExt32, ir.TI64, 0, s.magic(low, c, bits.Len64(most)))
	}
	return s.magic(a, c, bits.Len64(most))
}

// signedQuotient divides a by c, rounding toward zero, or returns nil.
func (s *simplifier) signedQuotient(a *ir.Value, c int64) *ir.Value {
	t, d := a.Type, uint64(c)
	if c < 0 {
		d = -d
	}
	power := d&(d-1) == 0
	if !power && t != ir.TI64 {
		return nil
	}
	width := t.Kind.Bits()
	sign := s.shift(ir.OpAShr, a, width-1) // -1 for a negative dividend
	q := a
	switch k := bits.TrailingZeros64(d); {
	case d == 1:
	case power:
		// A shift rounds down. Adding d-1 to a negative dividend makes up for the difference.
		q = s.shift(ir.OpAShr, s.op(ir.OpAdd, t, 0, a, s.shift(ir.OpLShr, sign, width-k)), k)
	default:
		// The dividend is at least -2^63. The product rounds down, so a negative quotient needs 1 more.
		m, k, _ := multiplier(d, width-1, width)
		q = s.op(ir.OpMulHiS, t, 0, a, s.constant(t, int64(m)))
		if int64(m) < 0 { // the instruction takes m as m - 2^64
			q = s.op(ir.OpAdd, t, 0, q, a)
		}
		q = s.op(ir.OpSub, t, 0, s.shift(ir.OpAShr, q, k), sign)
	}
	if c < 0 {
		return s.op(ir.OpSub, t, 0, s.constant(t, 0), q)
	}
	return q
}

// shift shifts by a constant that may be 0.
func (s *simplifier) shift(op ir.Op, a *ir.Value, n int) *ir.Value {
	if n == 0 {
		return a
	}
	return s.op(op, a.Type, 0, a, s.constant(ir.TI32, int64(n)))
}

// magic divides an unsigned value of at most the given number of bits by c, which is not a power of
// two, by multiplying. If the multiplier has one bit more than a register, this bit is accounted for by
// a separate addition that cannot overflow.
func (s *simplifier) magic(a *ir.Value, c uint64, most int) *ir.Value {
	t := a.Type
	m, k, fits := multiplier(c, most, t.Kind.Bits())
	high := s.op(ir.OpMulHiU, t, 0, a, s.constant(t, int64(m)))
	if fits {
		return s.shift(ir.OpLShr, high, k)
	}
	half := s.shift(ir.OpLShr, s.op(ir.OpSub, t, 0, a, high), 1)
	return s.shift(ir.OpLShr, s.op(ir.OpAdd, t, 0, half, high), k-1)
}

// multiplier returns m and k so that a/c is a*m >> (width+k) for all a up to 2^most. c is not a power
// of two. If fits is false, m lacks its highest bit, 1<<width, and k is at least 1.
//
// With e = m*c - 2^(width+k), the shifted product before rounding exceeds a/c by a*e / (c << (width+k)).
// The quotient is right if this is at most 1/c and a is below 2^most, so if e <= 2^(width+k-most).
func multiplier(c uint64, most, width int) (m uint64, k int, fits bool) {
	divide := func(high uint64) (q, r uint64) { // high<<width by c
		if width == 64 {
			return bits.Div64(high, 0, c)
		}
		return high << width / c, high << width % c
	}
	length := bits.Len64(c)
	for k := range length {
		q, r := divide(1 << k)
		if n := width + k - most; n >= 64 || c-r <= 1<<n {
			return q + 1, k, true
		}
	}
	q, _ := divide(1<<length - c)
	return q + 1, length, false
}
