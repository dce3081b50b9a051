package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// pair is two values. Equal constants are the same pair: for a constant, b is nil.
type pair struct {
	a, b *ir.Value
	bits int64
}

func pairOf(a, b *ir.Value) pair {
	if b.Op == ir.OpConst {
		return pair{a: a, bits: b.Aux}
	}
	return pair{a: a, b: b}
}

// unequal records that two values differ, in the current subtree of the dominator tree. The order of
// values cannot express this for a value inside of a range, such as a divisor that is not 0.
func (c *checks) unequal(a, b *ir.Value) {
	for _, p := range []pair{pairOf(a, b), pairOf(b, a)} {
		if !c.differ[p] {
			c.differ[p] = true
			c.undo = append(c.undo, func() { delete(c.differ, p) })
		}
	}
}
