package opt

import (
	"math"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// narrowChecks replaces the comparison of a sign-extended index with a length in a check by a 32-bit
// comparison: the index is inside if, as an unsigned number, it is below the smaller one of the
// length and 2^31. The smaller one is computed where the length is.
func narrowChecks(f *ir.Func) int {
	n := &narrower{f: f, order: newOrder(f, f.Dominators()), limits: map[*ir.Value]*ir.Value{}}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpCheck {
				n.condition(v.Args[0])
			}
		}
	}
	n.insert()
	return n.n
}

type narrower struct {
	*order
	f      *ir.Func
	limits map[*ir.Value]*ir.Value // for each length, the 32-bit limit
	n      int
}

func (n *narrower) condition(v *ir.Value) {
	switch v.Op {
	case ir.OpAnd, ir.OpOr, ir.OpNot:
		for _, a := range v.Args {
			n.condition(a)
		}
	case ir.OpICmp:
		i, size := v.Args[0], v.Args[1]
		if ir.Cond(v.Aux) == ir.ULt && i.Op == ir.OpSExt32 && size.Block != nil && n.rangeOf(size).lo >= 0 {
			v.Args[0], v.Args[1] = i.Args[0], n.limit(size)
			n.n++
		}
	}
}

func (n *narrower) limit(size *ir.Value) *ir.Value {
	l := n.limits[size]
	if l == nil {
		least := n.f.NewValue(ir.OpUMin, ir.TI64, size, n.f.Const(ir.TI64, math.MaxInt32+1))
		l = n.f.NewValue(ir.OpTrunc, ir.TI32, least)
		least.Pos, least.Block, l.Pos, l.Block = size.Pos, size.Block, size.Pos, size.Block
		n.limits[size] = l
	}
	return l
}

// insert inserts the limits after the lengths.
func (n *narrower) insert() {
	for _, b := range n.f.Blocks {
		var out []*ir.Value
		var late []*ir.Value // limits of phis, which follow all phis
		for _, v := range b.Values {
			if v.Op != ir.OpPhi {
				out = append(out, late...)
				late = nil
			}
			out = append(out, v)
			if l := n.limits[v]; l != nil {
				late = append(late, l.Args[0], l)
			}
		}
		b.Values = append(out, late...)
	}
}
