package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// joinEntries gives each loop with several entries one block through which it is entered. Loops that
// follow a switch have an entry for each case, and unroll requires a single one.
func joinEntries(f *ir.Func) {
	for _, l := range f.Loops(f.Dominators()).All {
		if len(l.Latches) == 1 && len(l.Header.Preds) > 2 {
			addPreheader(f, l)
		}
	}
}

// addPreheaders makes sure that each loop with one latch is entered from one block, which does nothing
// else.
func addPreheaders(f *ir.Func) {
	loops := f.Loops(f.Dominators())
	if len(loops.Odd) > 0 {
		return
	}
	for _, l := range loops.All {
		if len(l.Latches) == 1 && preheader(l) == nil {
			addPreheader(f, l)
		}
	}
}

// addPreheader returns a new block from which the loop is entered. The loop must have one latch, which
// becomes the header's second predecessor.
func addPreheader(f *ir.Func, l *ir.Loop) *ir.Block {
	h, latch := l.Header, l.Latches[0]
	before := f.NewBlock()
	before.Cold, before.Second = h.Cold, h.Second
	before.Term = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{h}, Pos: h.Term.Pos}
	at := slices.Index(h.Preds, latch)
	for i, p := range h.Preds {
		if i != at {
			retarget(p, h, before)
			before.Preds = append(before.Preds, p)
		}
	}
	h.Preds = []*ir.Block{before, latch}
	for _, v := range h.Values {
		if v.Op != ir.OpPhi {
			break
		}
		repeated := v.Args[at]
		entered := slices.Delete(v.Args, at, at+1)
		first := entered[0]
		if slices.ContainsFunc(entered, func(a *ir.Value) bool { return !same(a, first) }) {
			first = f.NewValue(ir.OpPhi, v.Type, entered...)
			first.Pos = v.Pos
			before.Append(first)
		}
		v.Args = []*ir.Value{first, repeated}
	}
	return before
}

// same reports whether two values are the same value or equal constants.
func same(a, b *ir.Value) bool {
	return a == b || a.Op == ir.OpConst && b.Op == ir.OpConst && a.Type == b.Type && a.Aux == b.Aux
}

// retarget changes all edges of a block that lead to one block so that they lead to another.
func retarget(b, from, to *ir.Block) {
	for i, s := range b.Term.Succs {
		if s == from {
			b.Term.Succs[i] = to
		}
	}
}
