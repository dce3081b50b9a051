package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// simplifyCFG removes blocks and branches. It does not duplicate code.
func simplifyCFG(f *ir.Func) int {
	n := removeUnreachable(f)
	for {
		changed := foldBranches(f) + removeUnreachable(f) + removePhis(f) + mergeBlocks(f) + skipEmpty(f)
		if changed == 0 {
			return n
		}
		n += changed
	}
}

// dropEdge removes the i-th incoming edge of a block, along with the corresponding operand of each
// phi.
func dropEdge(to *ir.Block, i int) {
	to.Preds = slices.Delete(to.Preds, i, i+1)
	for _, v := range to.Values {
		if v.Op != ir.OpPhi {
			break
		}
		v.Args = slices.Delete(v.Args, i, i+1)
	}
}

func removeUnreachable(f *ir.Func) int {
	reached := make([]bool, f.NumBlocks())
	for _, b := range f.ReversePostorder() {
		reached[b.ID] = true
	}
	n := 0
	for _, b := range f.Blocks {
		for i := len(b.Preds) - 1; i >= 0; i-- {
			if reached[b.ID] && !reached[b.Preds[i].ID] {
				dropEdge(b, i)
			}
		}
		if !reached[b.ID] {
			n++
		}
	}
	if n > 0 {
		f.Blocks = slices.DeleteFunc(f.Blocks, func(b *ir.Block) bool { return !reached[b.ID] })
	}
	return n
}

// foldBranches replaces branches that have only one possible target with jumps.
func foldBranches(f *ir.Func) int {
	n := 0
	for _, b := range f.Blocks {
		t := &b.Term
		if t.Kind != ir.TermIf {
			continue
		}
		if t.Cond.Op == ir.OpNot && t.Succs[0] != t.Succs[1] {
			t.Cond = t.Cond.Args[0]
			t.Succs[0], t.Succs[1] = t.Succs[1], t.Succs[0]
			n++
		}
		switch {
		case t.Cond.Op == ir.OpConst && t.Succs[0] != t.Succs[1]:
			keep, drop := t.Succs[0], t.Succs[1]
			if t.Cond.Aux == 0 {
				keep, drop = drop, keep
			}
			dropEdge(drop, slices.Index(drop.Preds, b))
			*t = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{keep}, Pos: t.Pos}
			n++
		case t.Succs[0] == t.Succs[1]:
			joinEdges(f, b)
			n++
		}
	}
	return n
}

// joinEdges replaces a branch whose two targets are the same block with a jump. The first of the
// two edges is the one taken if the condition is true.
func joinEdges(f *ir.Func, b *ir.Block) {
	to, cond := b.Term.Succs[0], b.Term.Cond
	i := slices.Index(to.Preds, b)
	k := i + 1 + slices.Index(to.Preds[i+1:], b)
	for _, v := range to.Values {
		if v.Op != ir.OpPhi {
			break
		}
		if v.Args[i] != v.Args[k] {
			s := f.NewValue(ir.OpSelect, v.Type, cond, v.Args[i], v.Args[k])
			s.Pos = v.Pos
			v.Args[i] = b.Append(s)
		}
	}
	dropEdge(to, k)
	b.Term = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{to}, Pos: b.Term.Pos}
}

// removePhis replaces phis that have only one operand other than themselves.
func removePhis(f *ir.Func) int {
	n := 0
	for {
		w := forward{}
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if v.Op != ir.OpPhi {
					break
				}
				if only := onlyOperand(v, w); only != nil {
					w[v] = only
				}
			}
		}
		if len(w) == 0 {
			return n
		}
		n += len(w)
		w.apply(f)
	}
}

func onlyOperand(phi *ir.Value, w forward) *ir.Value {
	var only *ir.Value
	for _, a := range phi.Args {
		a = w.get(a)
		switch {
		case a == phi || a == only:
		case only == nil || isConst(a) && isConst(only) && a.Aux == only.Aux && a.Type == only.Type:
			only = a
		default:
			return nil
		}
	}
	return only
}

// mergeBlocks merges blocks into their only predecessors.
func mergeBlocks(f *ir.Func) int {
	w := forward{}
	gone := map[*ir.Block]bool{}
	for _, b := range f.Blocks {
		for !gone[b] && b.Term.Kind == ir.TermJump {
			s := b.Term.Succs[0]
			if len(s.Preds) != 1 || s == b || s == f.Blocks[0] {
				break
			}
			for _, v := range s.Values {
				if v.Op == ir.OpPhi {
					w[v] = v.Args[0]
					continue
				}
				b.Append(v)
			}
			b.Term = s.Term
			b.Cold = b.Cold && s.Cold
			for _, next := range s.Term.Succs {
				for i, p := range next.Preds {
					if p == s {
						next.Preds[i] = b
					}
				}
			}
			gone[s] = true
			s.Values, s.Term = nil, ir.Term{}
		}
	}
	if len(gone) > 0 {
		f.Blocks = slices.DeleteFunc(f.Blocks, func(b *ir.Block) bool { return gone[b] })
		w.apply(f)
	}
	return len(gone)
}

// skipEmpty redirects edges that lead to an empty block to the block's target.
func skipEmpty(f *ir.Func) int {
	n := 0
	for _, b := range f.Blocks[1:] {
		if len(b.Values) > 0 || b.Term.Kind != ir.TermJump || b.Term.Succs[0] == b || len(b.Preds) == 0 {
			continue
		}
		to := b.Term.Succs[0]
		for i := len(b.Preds) - 1; i >= 0; i-- {
			if redirect(b, to, i) {
				n++
			}
		}
	}
	return n
}

// redirect redirects the i-th incoming edge of b to b's target. It does nothing if there is already
// an edge from the same source to that target and the target has phis: a phi cannot distinguish two
// edges from one predecessor.
func redirect(b, to *ir.Block, i int) bool {
	p := b.Preds[i]
	hasPhis := len(to.Values) > 0 && to.Values[0].Op == ir.OpPhi
	if p == b || hasPhis && slices.Contains(to.Preds, p) {
		return false
	}
	k := slices.Index(to.Preds, b)
	to.Preds = append(to.Preds, p)
	for _, v := range to.Values {
		if v.Op != ir.OpPhi {
			break
		}
		v.Args = append(v.Args, v.Args[k])
	}
	for j, s := range p.Term.Succs {
		if s == b {
			p.Term.Succs[j] = to
			break
		}
	}
	b.Preds = slices.Delete(b.Preds, i, i+1)
	return true
}

const (
	maxSelects = 6 // limit for instructions and selects that will be executed unconditionally
	// If the branch only chooses between values, the limit is higher, because the branch would need
	// a copy for each value on both sides.
	maxChoices = 12
)

// convertIfs replaces small branches around pure instructions with selects.
func convertIfs(f *ir.Func) int {
	n := 0
	for _, b := range f.Blocks {
		t := b.Term
		if t.Kind != ir.TermIf || t.Succs[0] == t.Succs[1] {
			continue
		}
		to := joined(b, t.Succs[0], t.Succs[1])
		if to == nil || to == b || to.Cold {
			continue
		}
		sides := [2]*ir.Block{}
		cost, limit := 0, maxChoices
		for i, s := range t.Succs {
			if s != to {
				sides[i] = s
				if cost += len(s.Values); cost > 0 {
					limit = maxSelects
				}
			}
		}
		for _, v := range to.Values {
			if v.Op == ir.OpPhi {
				cost++
			}
		}
		if cost > limit {
			continue
		}
		merge(f, b, to, sides)
		n++
	}
	if n > 0 {
		removeUnreachable(f)
		n += simplifyCFG(f)
	}
	return n
}

// joined returns the block at which both sides of a branch meet if the sides contain only cheap,
// pure instructions. Otherwise it returns nil.
func joined(b, then, els *ir.Block) *ir.Block {
	side := func(s *ir.Block) bool {
		return len(s.Preds) == 1 && s.Term.Kind == ir.TermJump && s != s.Term.Succs[0] && !s.Cold && !slices.ContainsFunc(s.Values, func(v *ir.Value) bool { return !cheap(v) })
	}
	switch {
	case side(then) && then.Term.Succs[0] == els:
		return els
	case side(els) && els.Term.Succs[0] == then:
		return then
	case side(then) && side(els) && then.Term.Succs[0] == els.Term.Succs[0]:
		return then.Term.Succs[0]
	}
	return nil
}

func cheap(v *ir.Value) bool {
	switch v.Op {
	case ir.OpPhi, ir.OpSDiv, ir.OpUDiv, ir.OpSRem, ir.OpURem, ir.OpFDiv, ir.OpFSqrt, ir.OpAsm:
		return false
	}
	return v.Effects() == 0
}

// merge moves the instructions of both sides to b and makes b jump to the block where the sides
// meet.
func merge(f *ir.Func, b, to *ir.Block, sides [2]*ir.Block) {
	var at [2]int // indices of the two edges in to.Preds
	for i, s := range sides {
		if s == nil {
			at[i] = slices.Index(to.Preds, b)
			continue
		}
		at[i] = slices.Index(to.Preds, s)
		for _, v := range s.Values {
			b.Append(v)
		}
		s.Values, s.Preds, s.Term = nil, nil, ir.Term{Kind: ir.TermExit}
	}
	for _, v := range to.Values {
		if v.Op != ir.OpPhi {
			break
		}
		if x, y := v.Args[at[0]], v.Args[at[1]]; x != y {
			s := f.NewValue(ir.OpSelect, v.Type, b.Term.Cond, x, y)
			s.Pos = v.Pos
			v.Args[at[0]] = b.Append(s)
		}
	}
	to.Preds[at[0]] = b
	dropEdge(to, at[1])
	b.Term = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{to}, Pos: b.Term.Pos}
}
