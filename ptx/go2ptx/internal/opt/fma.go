package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// contract fuses a multiplication with the addition that is its only use. Go permits this unless
// there is an explicit conversion between the two. F16 and BF16 are not fused, because in Go their
// operations are function calls, which round their results.
func contract(f *ir.Func) int {
	if f.Options.NoFMA {
		return 0
	}
	count := uses(f)
	n := 0
	for _, b := range f.Blocks {
		out := make([]*ir.Value, 0, len(b.Values))
		for _, v := range b.Values {
			if (v.Op == ir.OpFAdd || v.Op == ir.OpFSub) && v.Round == ir.RN && (v.Type == ir.TF32 || v.Type == ir.TF64) {
				if fuse(f, v, count, &out) {
					n++
				}
			}
			out = append(out, v)
		}
		b.Values = out
	}
	return n
}

// fuse turns v into an fma if possible, and appends additional instructions to out.
func fuse(f *ir.Func, v *ir.Value, count []int, out *[]*ir.Value) bool {
	product := func(a *ir.Value) bool { return a.Op == ir.OpFMul && a.Round == ir.RN && count[a.ID] == 1 }
	negated := func(a *ir.Value) *ir.Value {
		n := f.NewValue(ir.OpFNeg, a.Type, a)
		n.Pos, n.Block = v.Pos, v.Block
		*out = append(*out, n)
		return n
	}
	x, y := v.Args[0], v.Args[1]
	switch {
	case product(x):
		if v.Op == ir.OpFSub {
			y = negated(y)
		}
		v.Args = []*ir.Value{x.Args[0], x.Args[1], y}
	case product(y):
		a := y.Args[0]
		if v.Op == ir.OpFSub {
			a = negated(a)
		}
		v.Args = []*ir.Value{a, y.Args[1], x}
	default:
		return false
	}
	v.Op = ir.OpFMA
	return true
}
