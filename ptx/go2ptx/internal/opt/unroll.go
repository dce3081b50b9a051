package opt

import (
	"maps"
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Limits of unrolling: how many iterations a loop may have, and how many values the copies may have
// together. Loops that contain other loops have lower limits, because their overhead matters less. A nest
// is a loop whose inner loops have constant numbers of iterations in each of its iterations.
const (
	mostTrips, mostValues           = 128, 4096
	mostOuterTrips, mostOuterValues = 8, 512
	mostNestTrips, mostNestValues   = 16, 2048
)

// unroll replaces each loop whose number of iterations is constant and small with copies of its body.
// Then indices that depend on the counter are constant, and arrays that are indexed with them can be in
// registers. The threads that execute a copy are those that would execute the iteration, so barriers and
// other convergent operations may be copied.
func unroll(f *ir.Func) int {
	joinEntries(f)
	n := 0
	for ; unrollOne(f, func(l *ir.Loop) int {
		if l.Header.Nest {
			return mostNestValues
		}
		return mostValues
	}); n++ {
	}
	return n
}

// unrollInner unrolls loops without inner loops, and loops around those if little code results. Later
// passes make the copies smaller before unroll copies them again for the loops around them.
func unrollInner(f *ir.Func) int {
	joinEntries(f)
	dom := f.Dominators()
	loops := f.Loops(dom)
	for _, l := range loops.All {
		l.Header.Nest = slices.ContainsFunc(l.Blocks, func(b *ir.Block) bool { return loops.Of[b.ID] != l })
	}
	n := 0
	for ; unrollOne(f, func(l *ir.Loop) int {
		if l.Header.Nest {
			return mostOuterValues
		}
		return mostValues
	}); n++ {
	}
	return n
}

// unrollOne unrolls the first loop that can be unrolled, inner loops first. The copies may have as
// many values as the function most returns for the loop.
func unrollOne(f *ir.Func, most func(*ir.Loop) int) bool {
	loops := f.Loops(f.Dominators())
	if len(loops.Odd) > 0 {
		return false
	}
	for _, l := range slices.Backward(loops.All) {
		u := unroller{f: f, loops: loops, loop: l, most: most(l)}
		if trips, ok := u.trips(); ok {
			u.run(trips)
			return true
		}
	}
	return false
}

// unroller unrolls a loop that is entered by one edge, repeated by one edge, and left by one edge, from a
// block that each iteration passes once.
type unroller struct {
	f     *ir.Func
	loops *ir.Loops
	loop  *ir.Loop
	most  int // how many values the copies may have
}

// edges returns the positions of the header's two predecessors.
func (u *unroller) edges() (entry, latch int, ok bool) {
	h := u.loop.Header
	if len(h.Preds) != 2 || len(u.loop.Latches) != 1 {
		return 0, 0, false
	}
	latch = slices.Index(h.Preds, u.loop.Latches[0])
	return 1 - latch, latch, true
}

// exit returns the block that leaves the loop, and the position of its successor that is in the loop. It
// fails if there are several such blocks, or if an iteration may not pass the block or pass it repeatedly.
func (u *unroller) exit() (x *ir.Block, in int, ok bool) {
	for _, b := range u.loop.Blocks {
		for i, s := range b.Term.Succs {
			if u.loops.Contains(u.loop, s) {
				continue
			}
			if x != nil {
				return nil, 0, false
			}
			x, in = b, 1-i
		}
		if len(b.Term.Succs) == 0 {
			return nil, 0, false
		}
	}
	if x == nil || x.Term.Kind != ir.TermIf || u.loops.Of[x.ID] != u.loop {
		return nil, 0, false
	}
	return x, in, x == u.loop.Header || !u.avoids(x)
}

// avoids reports whether an iteration can be repeated without passing x.
func (u *unroller) avoids(x *ir.Block) bool {
	before := u.before(x)
	return x != u.loop.Latches[0] && slices.Contains(before, u.loop.Latches[0])
}

// before returns the blocks that an iteration can pass before it leaves x.
func (u *unroller) before(x *ir.Block) []*ir.Block {
	list := []*ir.Block{u.loop.Header}
	for i := 0; i < len(list); i++ {
		if list[i] == x {
			continue
		}
		for _, s := range list[i].Term.Succs {
			if u.loops.Contains(u.loop, s) && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// trips returns the number of iterations, if it is constant and within the limits.
func (u *unroller) trips() (int, bool) {
	entry, latch, ok := u.edges()
	exit, in, ok2 := u.exit()
	if !ok || !ok2 {
		return 0, false
	}
	most, values := mostTrips, u.most
	inner := u.inner()
	if len(inner) > 0 {
		most, values = mostNestTrips, min(values, mostOuterValues)
	}
	env := map[*ir.Value]int64{}
	for _, v := range u.loop.Header.Values {
		if v.Op == ir.OpPhi && v.Args[entry].Op == ir.OpConst {
			env[v] = v.Args[entry].Aux
		}
	}
	size, nest := u.size(env), 0
	for n := 0; n <= most && n*size <= values; n++ {
		c, ok := u.eval(exit.Term.Cond, env, 0)
		if !ok {
			return 0, false
		}
		if (c != 0) != (in == 0) {
			return n, u.loop.Header.Unroll == 0 || n <= u.loop.Header.Unroll
		}
		for _, l := range inner {
			if most == mostNestTrips {
				if v, ok := u.copies(l, env); ok && nest+v <= mostNestValues {
					nest += v
				} else {
					most = mostOuterTrips
				}
			}
		}
		next := map[*ir.Value]int64{}
		for phi := range env {
			if phi.Op == ir.OpPhi && phi.Block == u.loop.Header {
				if x, ok := u.eval(phi.Args[latch], env, 0); ok {
					next[phi] = x
				}
			}
		}
		env = next
	}
	return 0, false
}

// inner returns the loops in the loop.
func (u *unroller) inner() (list []*ir.Loop) {
	for _, l := range u.loops.All {
		if l != u.loop && u.loops.Contains(u.loop, l.Header) {
			list = append(list, l)
		}
	}
	return list
}

// copies returns how many values the copies of an inner loop have in the iteration with the given values.
// It fails if the number of copies is not constant.
func (u *unroller) copies(l *ir.Loop, env map[*ir.Value]int64) (values int, ok bool) {
	in := unroller{f: u.f, loops: u.loops, loop: l}
	entry, latch, ok := in.edges()
	exit, stay, ok2 := in.exit()
	if !ok || !ok2 || l.Header.Unroll > 0 {
		return 0, false
	}
	env = maps.Clone(env)
	at := entry
	for n := 0; n <= mostTrips; n++ {
		next := map[*ir.Value]int64{}
		for _, v := range l.Header.Values {
			if v.Op == ir.OpPhi {
				if x, ok := u.eval(v.Args[at], env, 0); ok {
					next[v] = x
				}
			}
		}
		maps.DeleteFunc(env, func(v *ir.Value, _ int64) bool { return u.loops.Contains(l, v.Block) })
		maps.Copy(env, next)
		c, ok := u.eval(exit.Term.Cond, env, 0)
		if !ok {
			return 0, false
		}
		if (c != 0) != (stay == 0) {
			return values, true
		}
		values, at = values+in.size(env), latch
	}
	return 0, false
}

// size returns how many values of an iteration remain if the values of env are constant: not those
// that are then constant, too, and not accesses to slots or constant tables at constant offsets.
func (u *unroller) size(env map[*ir.Value]int64) int {
	env = maps.Clone(env)
	known := func(v *ir.Value) bool {
		_, ok := u.eval(v, env, 0)
		return ok
	}
	n := 0
	for _, b := range u.loop.Blocks {
		n++
		for _, v := range b.Values {
			switch v.Op {
			case ir.OpPhi:
				n++
				continue
			case ir.OpLoad, ir.OpStore:
				p := v.Args[0]
				for p.Op == ir.OpPtrAdd && known(p.Args[1]) {
					p = p.Args[0]
				}
				if p.Op == ir.OpSlot || p.Op == ir.OpGlobal && p.Var.Space == ir.Const {
					continue
				}
			case ir.OpPtrAdd:
				if known(v.Args[1]) {
					continue
				}
			}
			if !known(v) {
				n++
			}
		}
	}
	return n
}

// eval computes a value of the current iteration from the constant phis.
func (u *unroller) eval(v *ir.Value, env map[*ir.Value]int64, depth int) (int64, bool) {
	if v.Op == ir.OpConst {
		return v.Aux, true
	}
	if x, ok := env[v]; ok {
		return x, true
	}
	if depth > 12 || v.Op == ir.OpPhi || v.Effects() != 0 || len(v.Args) == 0 || !u.loops.Contains(u.loop, v.Block) {
		return 0, false
	}
	args := make([]int64, len(v.Args))
	for i, a := range v.Args {
		x, ok := u.eval(a, env, depth+1)
		if !ok {
			return 0, false
		}
		args[i] = x
	}
	x, ok := ir.Eval(v, args)
	if ok {
		env[v] = x
	}
	return x, ok
}

// iteration is a copy of the loop's blocks and values.
type iteration struct {
	blocks map[*ir.Block]*ir.Block
	values map[*ir.Value]*ir.Value
}

func (it *iteration) get(v *ir.Value) *ir.Value {
	if w, ok := it.values[v]; ok {
		return w
	}
	return v
}

// run replaces the loop with its iterations, and with a copy of the part of an iteration that leaves it.
func (u *unroller) run(trips int) {
	entry, latch, _ := u.edges()
	exit, in, _ := u.exit()
	end := u.before(exit)
	h := u.loop.Header
	from, start := h.Preds[entry], h.Preds[latch]
	var before *iteration
	for n := range trips + 1 {
		blocks := u.loop.Blocks
		if n == trips {
			blocks = end
		}
		it := u.copy(blocks)
		for _, v := range h.Values {
			if v.Op != ir.OpPhi {
				continue
			}
			if before == nil {
				it.values[v] = v.Args[entry]
			} else {
				it.values[v] = before.get(v.Args[latch])
			}
		}
		to := exit.Term.Succs[in]
		if n == trips {
			to = exit.Term.Succs[1-in]
		}
		u.connect(it, exit, to)
		head := it.blocks[h]
		if before == nil {
			for i, s := range from.Term.Succs {
				if s == h {
					from.Term.Succs[i] = head
				}
			}
			head.Preds = []*ir.Block{from}
		} else {
			latch := before.blocks[start]
			for i, s := range latch.Term.Succs {
				if s == h {
					latch.Term.Succs[i] = head
				}
			}
			head.Preds = []*ir.Block{latch}
		}
		before = it
	}
	u.replace(before, exit)
}

// copy copies blocks of the loop. The operands are not yet those of the copy.
func (u *unroller) copy(blocks []*ir.Block) *iteration {
	it := &iteration{map[*ir.Block]*ir.Block{}, map[*ir.Value]*ir.Value{}}
	for _, b := range blocks {
		c := u.f.NewBlock()
		c.Cold = b.Cold
		if b != u.loop.Header {
			c.Unroll, c.Nest = b.Unroll, b.Nest
		}
		it.blocks[b] = c
		for _, v := range b.Values {
			if b == u.loop.Header && v.Op == ir.OpPhi {
				continue
			}
			w := u.f.NewValue(v.Op, v.Type)
			id := w.ID
			*w = *v
			w.ID, w.Args = id, slices.Clone(v.Args)
			it.values[v] = c.Append(w)
		}
	}
	return it
}

// connect gives the copies their operands, predecessors and successors. The copy of the block exit
// continues with the block to, or with its copy.
func (u *unroller) connect(it *iteration, exit, to *ir.Block) {
	h := u.loop.Header
	for b, c := range it.blocks {
		for _, w := range c.Values {
			for i, a := range w.Args {
				w.Args[i] = it.get(a)
			}
		}
		c.Term = b.Term
		c.Term.Succs = slices.Clone(b.Term.Succs)
		c.Term.Results = nil
		if c.Term.Cond != nil {
			c.Term.Cond = it.get(c.Term.Cond)
		}
		if b == exit {
			c.Term = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{to}, Pos: b.Term.Pos}
		}
		for i, s := range c.Term.Succs {
			if d := it.blocks[s]; d != nil && s != h {
				c.Term.Succs[i] = d
			}
		}
		if b != h {
			for _, p := range b.Preds {
				c.Preds = append(c.Preds, it.blocks[p])
			}
		}
	}
}

// replace removes the loop. What follows uses the values of the last copy.
func (u *unroller) replace(last *iteration, exit *ir.Block) {
	gone := map[*ir.Block]bool{}
	for _, b := range u.loop.Blocks {
		gone[b] = true
	}
	u.f.Blocks = slices.DeleteFunc(u.f.Blocks, func(b *ir.Block) bool { return gone[b] })
	w := forward{}
	for v, to := range last.values {
		w[v] = to
	}
	for _, b := range u.f.Blocks {
		for i, p := range b.Preds {
			if p == exit {
				b.Preds[i] = last.blocks[exit]
			}
		}
		for _, v := range b.Values {
			w.operands(v)
		}
		w.term(b)
	}
}
