package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// hoist moves loop-invariant pure instructions to the block before the loop.
func hoist(f *ir.Func) int {
	addPreheaders(f)
	dom := f.Dominators()
	loops := f.Loops(dom)
	n := 0
	for i := len(loops.All) - 1; i >= 0; i-- {
		l := loops.All[i]
		before := preheader(l)
		if before == nil {
			continue
		}
		inside := func(v *ir.Value) bool { return v.Block != nil && loops.Contains(l, v.Block) }
		for _, b := range dom.Order {
			if !loops.Contains(l, b) {
				continue
			}
			b.Values = slices.DeleteFunc(b.Values, func(v *ir.Value) bool {
				if v.Op == ir.OpPhi || v.Effects() != 0 || v.Op == ir.OpAsm || slices.ContainsFunc(v.Args, inside) {
					return false
				}
				if !cheap(v) && b != l.Header {
					return false
				}
				before.Append(v)
				n++
				return true
			})
		}
	}
	return n
}

// preheader returns the only block outside the loop from which the loop is entered, or nil. The
// block must not have other successors.
func preheader(l *ir.Loop) *ir.Block {
	var before *ir.Block
	for _, p := range l.Header.Preds {
		if slices.Contains(l.Latches, p) {
			continue
		}
		if before != nil {
			return nil
		}
		before = p
	}
	if before == nil || before.Term.Kind != ir.TermJump {
		return nil
	}
	return before
}
