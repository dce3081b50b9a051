package emit

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// rotated returns the shift to the left in a sum or difference that ptxas takes for a rotation, or nil. Ptxas 12.4 and
// 13.0 compile x<<n + x>>(64-n) and x<<n - x>>(64-n) to a rotation of x. That is right only for the sum with a logical
// shift. In random kernel k300004695, the shift was arithmetic. They take no product for a part of a rotation, so the
// shift is emitted as one. The shifted values need not be equal here, because ptxas finds equal values that are not
// known to be equal here.
func (x *fn) rotated(v *ir.Value) *ir.Value {
	if v.Type != ir.TI64 || v.Op != ir.OpAdd && v.Op != ir.OpSub {
		return nil
	}
	for i := range v.Args {
		left, right := x.held(v.Args[i]), x.held(v.Args[1-i])
		if left.Op != ir.OpShl || right.Op != ir.OpAShr && (right.Op != ir.OpLShr || v.Op == ir.OpAdd) {
			continue
		}
		n, m := x.held(left.Args[1]), x.held(right.Args[1])
		if n.Op == ir.OpConst && m.Op == ir.OpConst && n.Aux+m.Aux == 64 {
			return left
		}
	}
	return nil
}
