package opt

import (
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Divergent is a barrier that some threads of a block may not reach.
type Divergent struct {
	Barrier *ir.Value
	Branch  ir.Pos // the branch whose condition differs between threads
	// Guard is set if the threads that do not reach the barrier have ended. A barrier does not wait
	// for such threads.
	Guard bool
}

// DivergentBarriers returns the barriers that depend on a condition computed from the thread index.
// It treats values loaded from memory as equal for all threads.
func DivergentBarriers(f *ir.Func) []Divergent {
	post := f.Postdominators()
	values := divergentValues(f, post, source)
	p := newPartial(f, post)
	var found []Divergent
	seen := map[*ir.Value]int{}
	for _, b := range f.ReversePostorder() {
		if b.Term.Kind != ir.TermIf || !values[b.Term.Cond] {
			continue
		}
		if differs, known := p.differs(b); known && !differs {
			continue
		}
		guard := ends(b.Term.Succs[0]) || ends(b.Term.Succs[1])
		for _, d := range between(b, post) {
			for _, v := range d.Values {
				at, again := seen[v]
				switch {
				case !isBarrier(v):
				case !again:
					seen[v] = len(found)
					found = append(found, Divergent{v, b.Term.Pos, guard})
				case found[at].Guard && !guard:
					found[at] = Divergent{v, b.Term.Pos, false}
				}
			}
		}
	}
	return found
}

// isBarrier reports whether v must be executed by all threads of a block together.
func isBarrier(v *ir.Value) bool {
	if v.Op != ir.OpAsm || v.Effect&ir.Convergent == 0 {
		return false
	}
	return strings.Contains(v.Sym, "bar.sync") || strings.Contains(v.Sym, "bar.red") || strings.Contains(v.Sym, "barrier.sync") ||
		strings.Contains(v.Sym, "barrier.cta") || strings.Contains(v.Sym, "barrier.red")
}

// ends reports whether a block does nothing but end the function or the thread.
func ends(b *ir.Block) bool {
	for range 8 {
		if len(b.Values) > 0 {
			return false
		}
		if b.Term.Kind != ir.TermJump {
			return b.Term.Kind == ir.TermRet || b.Term.Kind == ir.TermExit
		}
		b = b.Term.Succs[0]
	}
	return false
}

// between returns the blocks on all paths from a branch to the block where its sides meet again.
func between(b *ir.Block, post *ir.Tree) (out []*ir.Block) {
	stop := post.Idom[b.ID]
	seen := map[*ir.Block]bool{stop: true}
	work := slices.Clone(b.Term.Succs)
	for len(work) > 0 {
		d := work[0]
		work = work[1:]
		if !seen[d] {
			seen[d] = true
			out = append(out, d)
			work = append(work, d.Term.Succs...)
		}
	}
	return out
}

// controlled returns the blocks whose execution depends on the branch, from the branch to the block
// where its sides meet again.
func controlled(b *ir.Block, post *ir.Tree) []*ir.Block {
	stop := post.Idom[b.ID]
	var out []*ir.Block
	seen := map[*ir.Block]bool{}
	for _, s := range b.Term.Succs {
		for ; s != nil && s != stop && !seen[s]; s = post.Idom[s.ID] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// divergentValues returns the values that may differ between threads: those computed from sources,
// and phis that depend on a branch on such a value.
func divergentValues(f *ir.Func, post *ir.Tree, source func(*ir.Value) bool) map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	for changed := true; changed; {
		changed = false
		mark := func(v *ir.Value) {
			if !out[v] && v.Type.Kind != ir.None {
				out[v], changed = true, true
			}
		}
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if source(v) {
					mark(v)
				}
				if v.Effects()&(ir.Reads|ir.Convergent) != 0 {
					continue
				}
				for _, a := range v.Args {
					if out[a] {
						mark(v)
					}
				}
			}
			if b.Term.Kind == ir.TermIf && out[b.Term.Cond] {
				markJoins(b, post, mark)
			}
		}
	}
	return out
}

// source reports whether a value is certain to differ between threads.
func source(v *ir.Value) bool {
	if v.Op == ir.OpAsm {
		return v.Divergent
	}
	return v.Op == ir.OpSpecial && (strings.HasPrefix(v.Sym, "%tid") || v.Sym == "%laneid" || v.Sym == "%warpid")
}

// markJoins marks the phis whose value depends on the side of the branch that a thread takes.
func markJoins(b *ir.Block, post *ir.Tree, mark func(*ir.Value)) {
	blocks := controlled(b, post)
	if stop := post.Idom[b.ID]; stop != nil {
		blocks = append(blocks, stop)
	}
	for _, d := range blocks {
		for _, v := range d.Values {
			if v.Op == ir.OpPhi {
				mark(v)
			}
		}
	}
}
