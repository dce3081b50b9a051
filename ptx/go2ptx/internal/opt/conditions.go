package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// maxSecond is the limit for the instructions that compute the second condition, which will be executed
// even if the first one decides.
const maxSecond = 5

// mergeConditions replaces the two branches of if x && y, where y is cheap, with one. Ptxas then needs no
// synchronization for the second branch, and predicates a small body. Since y is computed even if x
// decides, the pass runs after those that use the condition of each branch.
func mergeConditions(f *ir.Func) int {
	n := 0
	gone := map[*ir.Block]bool{}
	for _, b := range f.ReversePostorder() {
		for !gone[b] {
			second := mergeCondition(f, b)
			if second == nil {
				break
			}
			gone[second] = true
			n++
		}
	}
	if n > 0 {
		f.Blocks = slices.DeleteFunc(f.Blocks, func(b *ir.Block) bool { return gone[b] })
	}
	return n
}

// mergeCondition merges the branch of b with that of a successor, which it returns, or nil.
func mergeCondition(f *ir.Func, b *ir.Block) *ir.Block {
	for i, second := range b.Term.Succs {
		if b.Term.Kind != ir.TermIf || !isSecond(b, second) {
			continue
		}
		end := b.Term.Succs[1-i]
		j := slices.Index(second.Term.Succs, end)
		if j < 0 || !sameValues(end, b, second) {
			continue
		}
		body := second.Term.Succs[1-j]
		if body == end || body == b {
			continue
		}
		for _, v := range second.Values {
			b.Append(v)
		}
		x, y := b.Term.Cond, second.Term.Cond
		if i == 1 && j == 0 { // !x && !y
			b.Term.Cond = combine(f, b, ir.OpOr, x, y)
			b.Term.Succs = []*ir.Block{end, body}
		} else {
			if i == 1 {
				x = negate(f, b, x)
			} else if j == 0 {
				y = negate(f, b, y)
			}
			b.Term.Cond = combine(f, b, ir.OpAnd, x, y)
			b.Term.Succs = []*ir.Block{body, end}
		}
		dropEdge(end, slices.Index(end.Preds, second))
		body.Preds[slices.Index(body.Preds, second)] = b
		second.Values, second.Preds, second.Term = nil, nil, ir.Term{Kind: ir.TermExit}
		return second
	}
	return nil
}

// isSecond reports whether the block only computes a second condition.
func isSecond(b, second *ir.Block) bool {
	t := second.Term
	return second != b && len(second.Preds) == 1 && t.Kind == ir.TermIf && t.Succs[0] != t.Succs[1] && second.Cold == b.Cold &&
		len(second.Values) <= maxSecond && !slices.ContainsFunc(second.Values, func(v *ir.Value) bool { return !cheap(v) })
}

// sameValues reports whether the phis of a block have the same operands for two predecessors.
func sameValues(b, p, q *ir.Block) bool {
	i, j := slices.Index(b.Preds, p), slices.Index(b.Preds, q)
	for _, v := range b.Values {
		if v.Op != ir.OpPhi {
			break
		}
		x, y := v.Args[i], v.Args[j]
		if x != y && !(isConst(x) && isConst(y) && x.Aux == y.Aux) {
			return false
		}
	}
	return true
}

func combine(f *ir.Func, b *ir.Block, op ir.Op, x, y *ir.Value) *ir.Value {
	v := f.NewValue(op, ir.TBool, x, y)
	v.Pos = b.Term.Pos
	return b.Append(v)
}

// negate appends the negation of a condition.
func negate(f *ir.Func, b *ir.Block, c *ir.Value) *ir.Value {
	v := f.NewValue(ir.OpNot, ir.TBool, c)
	if c.Op == ir.OpICmp || c.Op == ir.OpFCmp && ir.Cond(c.Aux) <= ir.Ne {
		v = f.NewValue(c.Op, ir.TBool, c.Args...)
		v.Aux = int64(ir.Inverse[c.Aux])
	}
	v.Pos = b.Term.Pos
	return b.Append(v)
}
