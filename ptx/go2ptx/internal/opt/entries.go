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
			joinEntry(f, l.Header, l.Latches[0])
		}
	}
}

func joinEntry(f *ir.Func, h, latch *ir.Block) {
	at := slices.Index(h.Preds, latch)
	before := f.NewBlock()
	before.Cold = h.Cold
	before.Term = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{h}, Pos: h.Term.Pos}
	for i, p := range h.Preds {
		if i == at {
			continue
		}
		before.Preds = append(before.Preds, p)
		for j, s := range p.Term.Succs {
			if s == h {
				p.Term.Succs[j] = before
			}
		}
	}
	h.Preds = []*ir.Block{before, latch}
	for _, v := range h.Values {
		if v.Op != ir.OpPhi {
			continue
		}
		repeated := v.Args[at]
		entered := slices.Delete(v.Args, at, at+1)
		first := entered[0]
		if slices.ContainsFunc(entered, func(a *ir.Value) bool { return !same(a, first) }) {
			phi := f.NewValue(ir.OpPhi, v.Type, entered...)
			phi.Pos = v.Pos
			first = before.Append(phi)
		}
		v.Args = []*ir.Value{first, repeated}
	}
}

// same reports whether two values are the same value or equal constants.
func same(a, b *ir.Value) bool {
	return a == b || a.Op == ir.OpConst && b.Op == ir.OpConst && a.Type == b.Type && a.Aux == b.Aux
}
