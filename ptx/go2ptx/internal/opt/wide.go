package opt

import (
	"math"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// multiplyWide replaces products and left shifts of numbers that were extended to 64 bits with
// mul.wide, which extends its operands itself. Ptxas merges mul.wide and the addition to an address
// into one instruction. For a conversion, a shift and an addition, it needs three. Accesses with
// 32-bit array indices have this form. Of a 64-bit number in the range of 32 bits, the lower half is
// extended. The pass runs late, because other passes do not recognize
// mul.wide.
func multiplyWide(f *ir.Func) int {
	n := 0
	for _, b := range f.Blocks {
		var out []*ir.Value
		for _, v := range b.Values {
			out = append(out, v)
			if v.Type != ir.TI64 || v.Op != ir.OpShl && v.Op != ir.OpMul {
				continue
			}
			a, factor := v.Args[0], v.Args[1]
			var trunc *ir.Value
			op, least, most := ir.OpMulWideS, int64(math.MinInt32), int64(math.MaxInt32)
			if a.Op == ir.OpZExt32 {
				op, least, most = ir.OpMulWideU, 0, math.MaxUint32
			}
			if a.Op != ir.OpSExt32 && a.Op != ir.OpZExt32 {
				if !isConst(factor) || a.Op == ir.OpConst || !rangeOf(a, 6).within(math.MinInt32, math.MaxInt32) {
					continue
				}
				low := f.NewValue(ir.OpTrunc, ir.TI32, a)
				low.Pos, low.Block = v.Pos, b
				x := f.NewValue(ir.OpSExt32, ir.TI64, low) // mul.wide extends its operand itself
				trunc, a = low, x
			}
			switch {
			case v.Op == ir.OpMul && factor.Op == a.Op:
				factor = factor.Args[0]
			case v.Op == ir.OpMul && isConst(factor) && factor.Aux >= least && factor.Aux <= most:
				factor = f.Const(ir.TI32, int64(int32(factor.Aux)))
			case v.Op == ir.OpShl && isConst(factor) && uint64(factor.Aux) < 31:
				factor = f.Const(ir.TI32, 1<<factor.Aux)
			default:
				continue
			}
			v.Op, v.Args = op, []*ir.Value{a.Args[0], factor}
			if n++; trunc != nil {
				out = append(out[:len(out)-1], trunc, v)
			}
		}
		b.Values = out
	}
	return n
}
