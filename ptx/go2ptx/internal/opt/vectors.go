package opt

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// joinAccesses joins loads and stores of adjacent scalars in a block into vector accesses, such as
// those of the parts of a complex number or of the elements of a small array. If the alignment of the
// vector is not known, but depends only on a parameter or a value from outside of the loop, the
// vector access has a condition: without alignment, it accesses one element after another.
func joinAccesses(f *ir.Func) int {
	dom := f.Dominators()
	j := &joiner{f: f, low: &lowBits{}, loops: f.Loops(dom)}
	for _, b := range dom.Order {
		j.block(b)
	}
	return j.n
}

type joiner struct {
	f     *ir.Func
	low   *lowBits
	loops *ir.Loops
	b     *ir.Block
	open  []*group
	// before contains the instructions to insert before those of the block, by index.
	before map[int][]*ir.Value
	gone   map[*ir.Value]bool
	part   map[*ir.Value]*ir.Value // the element of a vector that replaces a load
	n      int
}

// A group consists of accesses to memory at the same address with different offsets. The loads of a
// group can move to the first one, and the stores to the last one.
type group struct {
	like    *ir.Value
	store   bool
	members []member
}

type member struct {
	v     *ir.Value
	index int // in the block
}

func (j *joiner) block(b *ir.Block) {
	j.b, j.open, j.before, j.gone, j.part = b, nil, map[int][]*ir.Value{}, map[*ir.Value]bool{}, map[*ir.Value]*ir.Value{}
	for i, v := range b.Values {
		j.visit(v, i)
	}
	j.close(func(*group) bool { return true })
	if len(j.gone) == 0 {
		return
	}
	to := forward{}
	var out []*ir.Value
	for i, v := range b.Values {
		out = append(out, j.before[i]...)
		if !j.gone[v] {
			out = append(out, v)
		} else if e := j.part[v]; e != nil {
			to[v] = e
		}
	}
	b.Values = out
	to.apply(j.f)
}

// visit adds an access to its group, and closes the groups whose accesses must not cross v.
func (j *joiner) visit(v *ir.Value, i int) {
	switch e := v.Effects(); {
	case v.Op == ir.OpLoad || v.Op == ir.OpLoadV:
		if v.Hint != ir.HintNC {
			j.close(func(g *group) bool { return g.store && mayAlias(g.like, v) })
		}
		if v.Op == ir.OpLoad {
			j.add(v, i)
		}
	case v.Op == ir.OpStore || v.Op == ir.OpStoreV:
		j.close(func(g *group) bool {
			return g.like.Hint != ir.HintNC && mayAlias(g.like, v) && !(g.store && v.Op == ir.OpStore && g.accepts(v))
		})
		if v.Op == ir.OpStore {
			j.add(v, i)
		}
	case v.Op == ir.OpCheck:
		j.close(func(g *group) bool { return !g.store }) // the check may protect a load
	case e&(ir.Writes|ir.Fences|ir.Reads|ir.Faults|ir.Varies) != 0:
		j.close(func(*group) bool { return true })
	}
}

// mayAlias reports whether the spaces of two accesses may overlap.
func mayAlias(v, w *ir.Value) bool {
	s, t := v.Args[0].Type.Space, w.Args[0].Type.Space
	return s == t || s == ir.Generic || t == ir.Generic
}

// accepts reports whether v is an access like those of the group, at another offset.
func (g *group) accepts(v *ir.Value) bool {
	w := g.like
	if v.Op != w.Op || v.Args[0] != w.Args[0] || v.Mem != w.Mem || v.Hint != w.Hint {
		return false
	}
	for _, m := range g.members {
		if d := m.v.Aux - v.Aux; d > -int64(v.Mem.Size()) && d < int64(v.Mem.Size()) {
			return false
		}
	}
	return true
}

func (j *joiner) add(v *ir.Value, i int) {
	p := v.Args[0]
	if isConst(p) || p.Type.Space == ir.Local || p.Type.Space == ir.Const || v.Mem == ir.MBool || v.Mem == ir.MPtr || v.Hint == ir.HintVolatile || v.Hint == ir.HintCV {
		return
	}
	for _, g := range j.open {
		if g.accepts(v) {
			g.members = append(g.members, member{v, i})
			return
		}
	}
	j.open = append(j.open, &group{v, v.Op == ir.OpStore, []member{{v, i}}})
}

// close forms the vectors of the groups that satisfy a condition.
func (j *joiner) close(which func(*group) bool) {
	j.open = slices.DeleteFunc(j.open, func(g *group) bool {
		if !which(g) {
			return false
		}
		slices.SortFunc(g.members, func(a, b member) int { return cmp.Compare(a.v.Aux, b.v.Aux) })
		for rest := g.members; len(rest) > 1; {
			n := j.join(g, rest)
			rest = rest[n:]
		}
		return true
	})
}

// join forms the longest vector that begins with the first member, and returns its length.
func (j *joiner) join(g *group, rest []member) int {
	size := g.like.Mem.Size()
	run := 1
	for run < len(rest) && rest[run].v.Aux == rest[0].v.Aux+int64(run*size) {
		run++
	}
	for n := 16 / size; n > 1; n /= 2 {
		if n > run || n*size < 4 || rest[0].v.Aux%int64(n*size) != 0 {
			continue
		}
		if r, ok := j.alignment(g.like.Args[0], n*size); ok {
			j.vector(g, rest[:n], r)
			return n
		}
	}
	return 1
}

// alignment returns whether a vector access of size bytes is possible. If the alignment is not known,
// it also returns the value that determines it.
func (j *joiner) alignment(p *ir.Value, size int) (r *ir.Value, ok bool) {
	r = j.low.same(p, bits.TrailingZeros(uint(size)))
	switch {
	case r == nil || r.Op == ir.OpParam:
		return r, true
	case r == p || r.Op == ir.OpGlobal || r.Op == ir.OpSlot:
		return nil, false
	}
	l := j.loops.Of[j.b.ID]
	return r, l != nil && r.Block != nil && !j.loops.Contains(l, r.Block)
}

// vector replaces accesses with a vector access.
func (j *joiner) vector(g *group, list []member, r *ir.Value) {
	at := list[0].index
	for _, m := range list {
		if g.store == (m.index > at) {
			at = m.index
		}
		j.gone[m.v] = true
	}
	first := list[0].v
	insert := func(op ir.Op, t ir.Type, aux int64, args ...*ir.Value) *ir.Value {
		v := j.f.NewValue(op, t, args...)
		v.Aux, v.Pos, v.Block = aux, first.Pos, j.b
		j.before[at] = append(j.before[at], v)
		return v
	}
	args := []*ir.Value{first.Args[0]}
	op, t := ir.OpLoadV, ir.TTuple
	if g.store {
		op, t = ir.OpStoreV, ir.TNone
		for _, m := range list {
			args = append(args, m.v.Args[1])
		}
	}
	if r != nil {
		if r.Type.Kind == ir.Ptr {
			r = insert(ir.OpBitcast, ir.TI64, 0, r)
		}
		low := insert(ir.OpAnd, r.Type, 0, r, j.f.Const(r.Type, int64(len(list)*first.Mem.Size()-1)))
		args = append(args, insert(ir.OpICmp, ir.TBool, int64(ir.Eq), low, j.f.Const(r.Type, 0)))
	}
	v := insert(op, t, first.Aux, args...)
	v.Mem, v.N, v.Hint = first.Mem, len(list), first.Hint
	if !g.store {
		for i, m := range list {
			v.Tuple = append(v.Tuple, m.v.Type)
			j.part[m.v] = insert(ir.OpExtract, m.v.Type, int64(i), v)
		}
	}
	j.n++
}

// alignmentOf returns the condition of a vector access, or nil if the access is not a vector access or its
// alignment is known.
func alignmentOf(v *ir.Value) *ir.Value {
	switch {
	case v.Op == ir.OpLoadV && len(v.Args) == 2:
		return v.Args[1]
	case v.Op == ir.OpStoreV && len(v.Args) == v.N+2:
		return v.Args[v.N+1]
	}
	return nil
}
