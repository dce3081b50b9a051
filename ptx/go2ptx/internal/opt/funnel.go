package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// joinShifts replaces x<<n | y>>(32-n) with a funnel shift, if n is constant or x is y. It runs
// before loops are unrolled, so that their copies are smaller. Ptxas recognizes only 32-bit shifts by
// constants.
func joinShifts(f *ir.Func) int {
	n := 0
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op != ir.OpOr && v.Op != ir.OpXor && v.Op != ir.OpAdd || v.Type == ir.TBool {
				continue
			}
			left, right := v.Args[0], v.Args[1]
			if left.Op != ir.OpShl {
				left, right = right, left
			}
			if left.Op != ir.OpShl || right.Op != ir.OpLShr || !complements(left, right) {
				continue
			}
			v.Op, v.Args = ir.OpFunnel, []*ir.Value{left.Args[0], right.Args[0], left.Args[1]}
			n++
		}
	}
	if n > 0 {
		removeDead(f) // the shifts
	}
	return n
}

// complements reports whether a left and a right shift make a funnel shift together.
func complements(left, right *ir.Value) bool {
	a, b, width := left.Args[1], right.Args[1], int64(left.Type.Kind.Bits())
	if isConst(a) && isConst(b) {
		return a.Aux > 0 && a.Aux < width && a.Aux+b.Aux == width
	}
	// A count may be 0, and the other one is then 32: one operand is unchanged, and the other is 0.
	return left.Type == ir.TI32 && left.Args[0] == right.Args[0] && (difference(a, b) || difference(b, a))
}

// difference reports whether a is 32-b, and b is from 0 to 32.
func difference(a, b *ir.Value) bool {
	a = extended(a)
	return a.Op == ir.OpSub && a.Args[0].IsConst(32) && extended(a.Args[1]) == extended(b) && rangeOf(b, 6).within(0, 32)
}

// extended returns the value that v was extended or truncated from. Its low 32 bits are those of v.
func extended(v *ir.Value) *ir.Value {
	for v.Op == ir.OpTrunc || v.Op == ir.OpZExt32 || v.Op == ir.OpSExt32 {
		v = v.Args[0]
	}
	return v
}
