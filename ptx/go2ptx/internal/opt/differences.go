package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// splitDifferences replaces a-(b-c) with (a-b)+c, which is equal because integers wrap. This works
// around a bug of ptxas: in CUDA 13.0, it computed a 64-bit a-(b-c) as a+c-b in random kernel
// k405897, and on an H100 the result was too large by 2^32 where c was 0. In that kernel, b was the
// result of a mul.hi.u32, which emit now avoids because of a similar bug. If b-c has another use, it
// is not replaced, because the replacement would add an instruction.
//
// The pass visits users before their operands, so a-(b-(c-d)) becomes (a-b)+(c-d).
func splitDifferences(f *ir.Func) int {
	n := 0
	count := uses(f)
	for _, b := range slices.Backward(f.ReversePostorder()) {
		var out []*ir.Value // in reverse
		for _, v := range slices.Backward(b.Values) {
			if v.Op == ir.OpSub && count[v.ID] == 0 {
				continue // replaced
			}
			for v.Op == ir.OpSub && v.Args[1].Op == ir.OpSub && count[v.Args[1].ID] == 1 {
				n++
				x, inner := v.Args[0], v.Args[1]
				y, z := inner.Args[0], inner.Args[1]
				v.Op = ir.OpAdd
				if inner.Block != b { // inner may be outside of a loop that contains b
					inner.Args[0], inner.Args[1] = z, y
					break
				}
				count[inner.ID] = 0
				first := f.NewValue(ir.OpSub, v.Type, x, y)
				first.Pos, first.Block = v.Pos, b
				v.Args[0], v.Args[1] = first, z
				out = append(out, v)
				v = first
			}
			out = append(out, v)
		}
		slices.Reverse(out)
		b.Values = out
	}
	return n
}
