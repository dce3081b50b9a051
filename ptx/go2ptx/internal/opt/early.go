package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

const (
	maxEarly  = 8  // checks at the end of a block
	maxSide   = 2  // checks that move from one side of a branch
	maxBody   = 22 // instructions of this side that remain
	maxLevel  = 3  // branches that a check moves across
	maxRun    = 3  // checks that move to a check before
	maxDemand = 24 // instructions that move with the checks of one side of a branch
)

// moveChecks moves checks to earlier places, so that the code between them needs no branches:
//
//   - within a block, a check moves to the check before it, across loads and stores,
//   - from one side of a branch to the branch, where it holds if the other side is taken,
//   - from the block at which both sides meet to the branch.
//
// Ptxas turns small sides without checks into predicated instructions, and it starts the loads of
// several such sides before it waits for the first one. Emit merges adjacent checks into one branch.
//
// A thread has the same fault as before, because checks keep their order and a check is only
// evaluated where its thread reached it before. Memory differs after a fault, because stores before
// the check are missing. A check does not cross operations that other threads can wait for.
func moveChecks(f *ir.Func) int {
	dom := f.Dominators()
	e := &early{f: f, dom: dom, post: f.Postdominators(), loops: f.Loops(dom), level: map[*ir.Value]int{}}
	if len(e.loops.Odd) > 0 {
		return 0
	}
	for _, b := range slices.Backward(dom.Order) {
		if b.Cold {
			continue
		}
		e.branch(b)
		e.within(b)
	}
	return e.n
}

type early struct {
	f         *ir.Func
	dom, post *ir.Tree
	loops     *ir.Loops
	level     map[*ir.Value]int // for each check, the number of branches it moved across
	n         int
}

// crossable reports whether a check may move across v.
func crossable(v *ir.Value) bool {
	switch v.Op {
	case ir.OpLoad, ir.OpLoadV, ir.OpStore, ir.OpStoreV:
		return v.Hint != ir.HintVolatile
	}
	return v.Effects() == 0
}

// branch moves checks to the end of b from the sides of its branch and from the block at which they
// meet.
func (e *early) branch(b *ir.Block) {
	join := e.post.Idom[b.ID]
	if b.Term.Kind != ir.TermIf || b.Term.Succs[0] == b.Term.Succs[1] || join == nil || !e.sameLoop(b, join) {
		return
	}
	clear := true // whether the sides have no checks and nothing that a check may not cross
	for i, s := range b.Term.Succs {
		if s == join {
			continue
		}
		if len(s.Preds) == 1 && e.sameLoop(b, s) {
			e.side(b, s, i == 0)
		}
	}
	for _, s := range between(b, e.post) {
		clear = clear && s != b && e.sameLoop(b, s) && !slices.ContainsFunc(s.Values, func(v *ir.Value) bool { return !crossable(v) })
	}
	if clear && join != b && e.dom.Dominates(b, join) {
		e.joined(b, join)
	}
}

func (e *early) sameLoop(a, b *ir.Block) bool { return e.loops.Of[a.ID] == e.loops.Of[b.ID] }

// side moves the checks of s to the end of b, if all of them can be moved.
func (e *early) side(b, s *ir.Block, yes bool) {
	var list []*ir.Value
	for _, v := range s.Values {
		switch {
		case v.Op == ir.OpCheck:
			list = append(list, v)
		case !crossable(v):
			return
		}
	}
	m := e.mover(b, s)
	for _, v := range list {
		if !m.demand(v) || e.level[v] == maxLevel {
			return
		}
	}
	if len(list) == 0 || len(list) > maxSide || len(s.Values) > maxBody+len(list)+len(m.moved) || len(m.moved) > maxDemand || checksOf(b)+len(list) > maxEarly {
		return
	}
	m.apply()
	other := b.Term.Cond
	if yes {
		other = e.insert(b, ir.OpNot, other)
	}
	for _, v := range list {
		v.Args[0] = e.insert(b, ir.OpOr, other, v.Args[0])
		b.Append(v)
		e.level[v]++
		e.n++
	}
	s.Values = slices.DeleteFunc(s.Values, func(v *ir.Value) bool { return slices.Contains(list, v) })
}

func (e *early) insert(b *ir.Block, op ir.Op, args ...*ir.Value) *ir.Value {
	v := e.f.NewValue(op, ir.TBool, args...)
	v.Pos = b.Term.Pos
	return b.Append(v)
}

// joined moves the first checks of the block at which both sides of a branch meet to the end of b.
func (e *early) joined(b, join *ir.Block) {
	for {
		i := slices.IndexFunc(join.Values, func(v *ir.Value) bool { return !crossable(v) })
		if i < 0 || join.Values[i].Op != ir.OpCheck || checksOf(b) >= maxEarly {
			return
		}
		v, m := join.Values[i], e.mover(b, join)
		if !m.demand(v) || len(m.moved) > maxDemand {
			return
		}
		m.apply()
		join.Values = slices.DeleteFunc(join.Values, func(w *ir.Value) bool { return w == v })
		b.Append(v)
		e.n++
	}
}

// checksOf counts the checks of a block.
func checksOf(b *ir.Block) int {
	n := 0
	for _, v := range b.Values {
		if v.Op == ir.OpCheck {
			n++
		}
	}
	return n
}

// mover collects the instructions of block from that must move to the end of block to before a check
// can move there.
type mover struct {
	*early
	to, from *ir.Block
	moved    []*ir.Value
	seen     map[*ir.Value]bool
}

func (e *early) mover(to, from *ir.Block) *mover {
	return &mover{early: e, to: to, from: from, seen: map[*ir.Value]bool{}}
}

// demand reports whether the operands of v can be computed in block to.
func (m *mover) demand(v *ir.Value) bool {
	for _, a := range v.Args {
		switch {
		case m.seen[a] || a.Block == nil || m.dom.Dominates(a.Block, m.to):
		case a.Block != m.from || !cheap(a) || !m.demand(a):
			return false
		default:
			m.seen[a] = true
			m.moved = append(m.moved, a)
		}
	}
	return true
}

func (m *mover) apply() {
	m.from.Values = slices.DeleteFunc(m.from.Values, func(v *ir.Value) bool { return m.seen[v] })
	for _, v := range m.moved {
		m.to.Append(v)
	}
}

// within moves checks of a block to the check before, across loads and stores.
func (e *early) within(b *ir.Block) {
	at, run := -1, 0 // index after the last check, and the number of checks that moved to the first one
	for i := 0; i < len(b.Values); i++ {
		v := b.Values[i]
		switch {
		case v.Op != ir.OpCheck && !crossable(v):
			at = -1
		case v.Op != ir.OpCheck:
		case at >= 0 && run < maxRun && e.up(b, at, i):
			at, run = slices.Index(b.Values, v)+1, run+1
		default:
			at, run = i+1, 0
		}
	}
}

// up moves the check at index i to index at, after the instructions it needs.
func (e *early) up(b *ir.Block, at, i int) bool {
	part := b.Values[at:i]
	if !slices.ContainsFunc(part, func(v *ir.Value) bool { return v.Effects() != 0 }) {
		return false // there are only instructions that emit emits before the check
	}
	need := map[*ir.Value]bool{b.Values[i]: true}
	for k := i; k >= at; k-- {
		if v := b.Values[k]; need[v] {
			if v != b.Values[i] && !cheap(v) || len(need) > maxDemand {
				return false
			}
			for _, a := range v.Args {
				need[a] = true
			}
		}
	}
	var first, rest []*ir.Value
	for _, v := range b.Values[at : i+1] {
		if need[v] {
			first = append(first, v)
		} else {
			rest = append(rest, v)
		}
	}
	copy(b.Values[at:], append(first, rest...))
	e.n++
	return true
}
