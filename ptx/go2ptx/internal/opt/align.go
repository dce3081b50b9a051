package opt

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// maskLowBits simplifies x & (2^k-1), which is how alignment is checked. It removes terms from x that
// are multiples of 2^k: the alignment of &a[4*i] depends only on a. In a loop, the result often does
// not change, and the alignment of a variable is known.
func maskLowBits(f *ir.Func) int {
	n := 0
	s := &simplifier{f: f, to: forward{}}
	l := &lowBits{}
	for _, b := range f.ReversePostorder() {
		s.out = make([]*ir.Value, 0, len(b.Values))
		for _, v := range b.Values {
			s.at = v
			s.to.operands(v)
			if r := s.mask(v, l); r != nil {
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

func (s *simplifier) mask(v *ir.Value, l *lowBits) *ir.Value {
	if v.Op != ir.OpAnd || v.Type == ir.TBool || !isConst(v.Args[1]) {
		return nil
	}
	m := v.Args[1].Aux
	if m <= 0 || m&(m+1) != 0 {
		return nil
	}
	x := l.same(v.Args[0], bits.Len64(uint64(m)))
	switch {
	case x == nil:
		return s.constant(v.Type, 0)
	case x == v.Args[0]:
		return nil
	case x.Type.Kind == ir.Ptr:
		x = s.op(ir.OpBitcast, ir.TI64, 0, x)
	}
	return s.op(ir.OpAnd, v.Type, 0, x, v.Args[1])
}

// lowBits determines the low bits of integers and addresses.
type lowBits struct {
	busy map[*ir.Value]bool // phis whose low bits are being determined
}

// same returns a simpler value with the same k low bits as x, or nil if these bits are 0. The value
// dominates x. A value of another type has the same number of bits.
func (l *lowBits) same(x *ir.Value, k int) *ir.Value {
	first := x
	for {
		if l.zeros(x, 8) >= k {
			return nil
		}
		next := x
		switch x.Op {
		case ir.OpAdd, ir.OpPtrAdd:
			switch {
			case l.zeros(x.Args[1], 8) >= k:
				next = x.Args[0]
			case x.Op == ir.OpAdd && l.zeros(x.Args[0], 8) >= k:
				next = x.Args[1]
			}
		case ir.OpSub:
			if l.zeros(x.Args[1], 8) >= k {
				next = x.Args[0]
			}
		case ir.OpBitcast:
			if p := x.Args[0]; p.Type.Kind == ir.Ptr {
				next = p
			}
		case ir.OpCopy:
			next = x.Args[0]
		case ir.OpPhi:
			next = l.entered(x, k)
		}
		if next == x || isConst(next) || next.Op == ir.OpUndef {
			break
		}
		x = next
	}
	// An address alone is not simpler than its conversion to an integer.
	if first.Op == ir.OpBitcast && x == first.Args[0] {
		return first
	}
	return x
}

// entered returns the value with which a loop is entered if the k low bits of its phi are the same
// in each iteration. Otherwise it returns the phi.
func (l *lowBits) entered(phi *ir.Value, k int) *ir.Value {
	var first *ir.Value
	for _, a := range phi.Args {
		steps := 0
		for x := a; ; steps++ {
			if x == phi && steps > 0 {
				break
			}
			if (x.Op == ir.OpAdd || x.Op == ir.OpPtrAdd || x.Op == ir.OpSub) && l.zeros(x.Args[1], 8) >= k && steps < 8 {
				x = x.Args[0]
				continue
			}
			// Operands that are derived from the phi come from the loop, so the only other one
			// comes from the block before the loop and dominates the phi.
			if first != nil {
				return phi
			}
			first = a
			break
		}
	}
	if first == nil || first == phi || len(phi.Args) < 2 {
		return phi
	}
	return first
}

// zeros returns how many of the low bits of an integer or address are known to be 0.
func (l *lowBits) zeros(v *ir.Value, depth int) int {
	const all = 64
	if v.Op == ir.OpConst {
		return bits.TrailingZeros64(uint64(v.Aux))
	}
	if depth == 0 || !v.Type.Kind.IsInt() && v.Type.Kind != ir.Ptr {
		return 0
	}
	arg := func(i int) int { return l.zeros(v.Args[i], depth-1) }
	switch v.Op {
	case ir.OpGlobal:
		return bits.TrailingZeros64(uint64(v.Var.Align))
	case ir.OpSlot:
		return bits.TrailingZeros64(uint64(v.Block.Func.Slots[v.Aux].Align))
	case ir.OpAdd, ir.OpSub, ir.OpPtrAdd, ir.OpOr, ir.OpXor, ir.OpSRem, ir.OpURem, ir.OpSMin, ir.OpSMax, ir.OpUMin, ir.OpUMax:
		if n := arg(0); n > 0 {
			return min(n, arg(1))
		}
	case ir.OpAnd:
		return max(arg(0), arg(1))
	case ir.OpMul, ir.OpMulWideS, ir.OpMulWideU:
		return min(arg(0)+arg(1), all)
	case ir.OpShl:
		if n := v.Args[1]; isConst(n) && n.Aux >= 0 && n.Aux < all {
			return min(arg(0)+int(n.Aux), all)
		}
	case ir.OpSExt32, ir.OpZExt32, ir.OpTrunc, ir.OpBitcast, ir.OpCopy, ir.OpSpaceCast:
		return arg(0)
	case ir.OpSelect:
		return min(arg(1), arg(2))
	case ir.OpPhi:
		if l.busy[v] {
			return all // the other operands decide
		}
		if l.busy == nil {
			l.busy = map[*ir.Value]bool{}
		}
		l.busy[v] = true
		defer delete(l.busy, v)
		n := all
		for i := range v.Args {
			if n > 0 {
				n = min(n, arg(i))
			}
		}
		return n
	}
	return 0
}

// multipleBelow returns the largest number that is at most x and a multiple of each power of two that
// divides both values.
func multipleBelow(x int64, a, b *ir.Value) int64 {
	if n := (&lowBits{}).zeros(a, 8); n > 0 {
		if n = min(n, (&lowBits{}).zeros(b, 8), 62); n > 0 {
			return x &^ (1<<n - 1)
		}
	}
	return x
}
