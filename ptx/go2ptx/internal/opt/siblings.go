package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Limits for the computations that move before a branch, because they occupy registers longer there: how many move to
// one block, and how many instructions are between the branch and the last block that computes the value. The second
// one does not apply if all threads compute the value anyway.
const (
	maxSiblings = 16
	maxDistance = 80
)

// mergeSiblings moves a cheap computation that is in two blocks, of which none dominates the other, to the end of the
// block that dominates both. Threads on other paths execute it as well, but ptxas does the same, and the code is shorter.
// Nothing moves into or out of a loop, or from a block that is rarely executed to another one. Conditions stay, because
// a thread has only seven predicates.
func mergeSiblings(f *ir.Func) int {
	dom := f.Dominators()
	s := &siblings{dom: dom, post: f.Postdominators(), loops: f.Loops(dom), start: make([]int, f.NumBlocks()), moved: make([]int, f.NumBlocks())}
	if len(s.loops.Odd) > 0 {
		return 0
	}
	at := 0
	for _, b := range f.ReversePostorder() {
		s.start[b.ID] = at
		at += len(b.Values)
	}
	n := 0
	for {
		s.to = forward{}
		if s.merge(); len(s.to) == 0 {
			return n
		}
		n += len(s.to)
		s.to.apply(f)
	}
}

type siblings struct {
	dom, post *ir.Tree
	loops     *ir.Loops
	start     []int // by block ID: the number of instructions before the block
	moved     []int // by block ID: how many computations have moved to the end of the block
	to        forward
}

// merge moves equal computations. Those that are left in s.to have the same result as another one.
func (s *siblings) merge() {
	g := &numberer{consts: map[key]*ir.Value{}}
	first := map[key]*ir.Value{}
	for _, b := range s.dom.Order {
		for _, v := range b.Values {
			s.to.operands(v)
			if v.Op == ir.OpExtract || v.Type == ir.TBool || !cheap(v) {
				continue
			}
			for i, a := range v.Args {
				v.Args[i] = g.constant(a)
			}
			k, ok := g.key(v, versions{})
			if !ok {
				continue
			}
			w := first[k]
			if w == nil {
				first[k] = v
				continue
			}
			if s.above(w, b) {
				s.to[v] = w
			}
		}
	}
}

// above makes sure that v is computed before block b. If necessary and possible, it moves v to the end of the block that
// dominates both. The operands dominate both as well, and so that block.
func (s *siblings) above(v *ir.Value, b *ir.Block) bool {
	d := v.Block
	for !s.dom.Dominates(d, b) {
		if d = s.dom.Idom[d.ID]; d == nil {
			return false
		}
	}
	if d == v.Block {
		return true
	}
	if s.moved[d.ID] == maxSiblings || !s.everywhere(d, v.Block, b) && s.start[b.ID]-s.start[d.ID]-len(d.Values) > maxDistance {
		return false
	}
	for _, from := range []*ir.Block{v.Block, b} {
		if s.loops.Of[from.ID] != s.loops.Of[d.ID] || from.Cold && !d.Cold {
			return false
		}
	}
	v.Block.Values = slices.DeleteFunc(v.Block.Values, func(w *ir.Value) bool { return w == v })
	d.Append(v)
	s.moved[d.ID]++
	return true
}

// everywhere reports whether all paths from block d lead through a or through b.
func (s *siblings) everywhere(d, a, b *ir.Block) bool {
	for _, to := range d.Term.Succs {
		if !s.post.Dominates(a, to) && !s.post.Dominates(b, to) {
			return false
		}
	}
	return true
}
