package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

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
	b := f.NewBlock()
	b.Cold = h.Cold
	b.Term = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{h}, Pos: h.Term.Pos}
	at := slices.Index(h.Preds, latch)
	for i, p := range h.Preds {
		if i != at {
			retarget(p, h, b)
			b.Preds = append(b.Preds, p)
		}
	}
	for _, v := range h.Values {
		if v.Op != ir.OpPhi {
			break
		}
		next := v.Args[at]
		starts := slices.Delete(slices.Clone(v.Args), at, at+1)
		start := starts[0]
		if slices.ContainsFunc(starts, func(a *ir.Value) bool { return a != start }) {
			start = f.NewValue(ir.OpPhi, v.Type, starts...)
			start.Pos = v.Pos
			b.Append(start)
		}
		v.Args = []*ir.Value{start, next}
	}
	h.Preds = []*ir.Block{b, latch}
	return b
}

// retarget changes all edges of a block that lead to one block so that they lead to another.
func retarget(b, from, to *ir.Block) {
	for i, s := range b.Term.Succs {
		if s == from {
			b.Term.Succs[i] = to
		}
	}
}
