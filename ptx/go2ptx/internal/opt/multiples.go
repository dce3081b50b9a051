package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// multiple replaces a 64-bit value that several instructions compute as x times a constant with one
// multiplication or shift, if the lower word of the constant is 0. This works around a bug of ptxas
// 12.4 and 13.0, which also combines such instructions and forgets the result if it is added to a
// multiple of x: it takes y*5 + y for y if y is (x<<31)<<28, (x<<31)*6, or (x+x)<<31, and y*6 + y if y
// is (x<<3)<<28. In random kernel k60300513 it did. If one instruction computes the multiple, the code
// is right. Other constants stay as they are, because a shift of a product costs less than a second
// product.
func (s *simplifier) multiple(v *ir.Value) *ir.Value {
	x, c := factors(v, 5)
	switch {
	case x == v || uint32(c) != 0:
		return nil
	case c == 0:
		return s.constant(v.Type, 0)
	case v.Args[0] == x && isConst(v.Args[1]):
		return nil // it is one already
	}
	return s.op(ir.OpMul, v.Type, 0, x, s.constant(v.Type, c))
}

// factors returns a value and a constant whose product is v. It looks through at most depth
// instructions.
func factors(v *ir.Value, depth int) (x *ir.Value, c int64) {
	if depth == 0 || len(v.Args) != 2 {
		return v, 1
	}
	a, b := v.Args[0], v.Args[1]
	switch v.Op {
	case ir.OpShl:
		if n := b.Aux; isConst(b) && n >= 0 && n < 64 {
			x, c = factors(a, depth-1)
			return x, c << n
		}
	case ir.OpMul:
		if isConst(b) {
			x, c = factors(a, depth-1)
			return x, c * b.Aux
		}
	case ir.OpAdd, ir.OpSub:
		if isConst(b) {
			break
		}
		y, d := factors(b, depth-1)
		if v.Op == ir.OpSub {
			d = -d
		}
		if a.IsConst(0) {
			return y, d
		}
		if x, c = factors(a, depth-1); x == y {
			return x, c + d
		}
	}
	return v, 1
}
