package opt

import (
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// PartialBarriers returns the barriers that only some threads of a block reach, whatever the
// kernel's arguments are. It finds such barriers only if the block size is known, if the condition
// that guards the barrier depends only on the thread's index in the block, and if the threads on
// the other side of the branch continue rather than end.
func PartialBarriers(f *ir.Func) []Divergent {
	if !hasBarrier(f) {
		return nil
	}
	p := newPartial(f, f.Postdominators())
	var found []Divergent
	for _, b := range f.ReversePostorder() {
		if !p.splits(b) {
			continue
		}
		for _, d := range f.ReversePostorder() {
			if !p.onOneSide(b, d) {
				continue
			}
			for _, v := range d.Values {
				if waitsForAll(v) {
					found = append(found, Divergent{Barrier: v, Branch: b.Term.Pos})
				}
			}
		}
	}
	return found
}

func hasBarrier(f *ir.Func) bool {
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if waitsForAll(v) {
				return true
			}
		}
	}
	return false
}

// waitsForAll reports whether v is a barrier that waits for all threads of the block or of the
// cluster.
func waitsForAll(v *ir.Value) bool {
	return v.Op == ir.OpAsm && (strings.HasPrefix(v.Sym, "bar.sync 0;") || strings.HasPrefix(v.Sym, "bar.red.") && strings.Contains(v.Sym, ", 0, ") ||
		strings.HasPrefix(v.Sym, "barrier.cluster."))
}

// mayDiffer reports whether a value may be different in different threads even if its operands are
// the same. Unlike source, it includes loads and the results of calls.
func mayDiffer(v *ir.Value) bool {
	return source(v) || v.Op == ir.OpCall || v.Effects()&(ir.Reads|ir.Varies|ir.Convergent) != 0
}

type partial struct {
	f         *ir.Func
	threads   *threads
	post, dom *ir.Tree
	differ    map[*ir.Value]bool
}

func newPartial(f *ir.Func, post *ir.Tree) *partial {
	p := &partial{f: f, threads: newThreads(f), post: post}
	if p.threads.n > 0 {
		p.dom, p.differ = f.Dominators(), divergentValues(f, post, mayDiffer)
	}
	return p
}

// splits reports whether the threads that reach a branch are certain to take both sides and to
// continue together later.
func (p *partial) splits(b *ir.Block) bool {
	if b.Term.Kind != ir.TermIf {
		return false
	}
	join := p.post.Idom[b.ID]
	if join == nil || ends(join) {
		return false
	}
	differs, known := p.differs(b)
	return differs && known
}

// differs reports whether the condition of a branch differs between the threads that reach it. If
// that cannot be determined, known is false.
func (p *partial) differs(b *ir.Block) (differs, known bool) {
	cond := p.threads.values(b.Term.Cond)
	if cond == nil {
		return false, false
	}
	at, known := p.reaching(b)
	var yes, no bool
	for i := range cond {
		here := !known || at[i]
		yes = yes || here && cond[i] != 0
		no = no || here && cond[i] == 0
	}
	return yes && no, known || !yes || !no
}

// reaching returns the set of threads that reach block b, if any thread does. It fails if an
// earlier condition may differ between threads and its values are unknown.
func (p *partial) reaching(b *ir.Block) (at []bool, ok bool) {
	at = make([]bool, p.threads.n)
	for i := range at {
		at[i] = true
	}
	for _, d := range p.f.ReversePostorder() {
		if d == b || d.Term.Kind != ir.TermIf || p.post.Dominates(b, d) || !reaches(d, b) {
			continue
		}
		cond := p.threads.values(d.Term.Cond)
		if cond == nil && !p.differ[d.Term.Cond] {
			continue
		}
		side := p.side(d, b)
		if cond == nil || side < 0 {
			return nil, false
		}
		for i := range at {
			at[i] = at[i] && (cond[i] != 0) == (side == 0)
		}
	}
	return at, true
}

// side returns the index of the side of a branch that every path to b takes, or -1 if there is
// none.
func (p *partial) side(branch, b *ir.Block) int {
	for i, s := range branch.Term.Succs {
		if len(s.Preds) == 1 && p.dom.Dominates(s, b) {
			return i
		}
	}
	return -1
}

// onOneSide reports whether d is reached from only one side of the branch.
func (p *partial) onOneSide(branch, d *ir.Block) bool {
	return p.side(branch, d) >= 0 && !p.post.Dominates(d, branch)
}

// reaches reports whether there is a path between two blocks.
func reaches(from, to *ir.Block) bool {
	seen := map[*ir.Block]bool{}
	work := []*ir.Block{from}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range b.Term.Succs {
			if s == to {
				return true
			}
			if !seen[s] {
				seen[s] = true
				work = append(work, s)
			}
		}
	}
	return false
}

// threads evaluates values that depend only on a thread's index in its block, for every thread of a
// block.
type threads struct {
	n     int
	size  [3]int
	known map[*ir.Value][]int64 // nil if the value is not known
}

// newThreads returns a threads for f. It contains no threads if the block size is not known.
func newThreads(f *ir.Func) *threads {
	t := &threads{known: map[*ir.Value][]int64{}}
	if l := f.Launch; f.Kernel && l.Required && l.Block[0] > 0 {
		t.size = [3]int{l.Block[0], max(l.Block[1], 1), max(l.Block[2], 1)}
		t.n = t.size[0] * t.size[1] * t.size[2]
	}
	return t
}

// values returns the value of v in each thread, or nil if it is not known.
func (t *threads) values(v *ir.Value) []int64 {
	list, ok := t.known[v]
	if !ok && t.n > 0 {
		t.known[v] = nil // ends the recursion if v depends on itself
		list = t.compute(v)
		t.known[v] = list
	}
	return list
}

func (t *threads) compute(v *ir.Value) []int64 {
	switch {
	case v.Op == ir.OpConst:
		return t.each(func(int) int64 { return v.Aux })
	case v.Op == ir.OpSpecial:
		return t.special(v.Sym)
	case v.Op == ir.OpPhi || v.Op == ir.OpParam || v.Effects() != 0 || len(v.Args) == 0:
		return nil
	}
	args := make([][]int64, len(v.Args))
	for i, a := range v.Args {
		if args[i] = t.values(a); args[i] == nil {
			return nil
		}
	}
	one, known := make([]int64, len(args)), true
	list := t.each(func(i int) int64 {
		for j := range args {
			one[j] = args[j][i]
		}
		x, ok := ir.Eval(v, one)
		known = known && ok
		return x
	})
	if !known {
		return nil
	}
	return list
}

func (t *threads) each(f func(i int) int64) []int64 {
	list := make([]int64, t.n)
	for i := range list {
		list[i] = f(i)
	}
	return list
}

func (t *threads) special(name string) []int64 {
	size := t.size
	switch name {
	case "%tid.x":
		return t.each(func(i int) int64 { return int64(i % size[0]) })
	case "%tid.y":
		return t.each(func(i int) int64 { return int64(i / size[0] % size[1]) })
	case "%tid.z":
		return t.each(func(i int) int64 { return int64(i / size[0] / size[1]) })
	case "%laneid":
		return t.each(func(i int) int64 { return int64(i % 32) })
	}
	return nil
}
