package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// removeChecks removes checks and resolves branches whose conditions are known, either from an
// earlier check or branch or from the ranges of the operands.
func removeChecks(f *ir.Func) int {
	dom := f.Dominators()
	c := &checks{f: f, order: newOrder(f, dom), known: map[*ir.Value]bool{}, differ: map[pair]bool{}}
	if len(c.dom.Order) > 0 {
		c.walk(f.Blocks[0])
	}
	return c.n
}

type checks struct {
	*order
	f     *ir.Func
	known map[*ir.Value]bool
	// differ contains pairs of values that are not equal.
	differ map[pair]bool
	// alternatives contains the known conditions x || y.
	alternatives []*ir.Value
	n            int
}

func (c *checks) walk(b *ir.Block) {
	mark := len(c.undo)
	if p := c.entry(b); p != nil {
		if t := p.Term; t.Kind == ir.TermIf && t.Succs[0] != t.Succs[1] {
			c.assume(t.Cond, t.Succs[0] == b)
		}
	}
	out := make([]*ir.Value, 0, len(b.Values)+1)
	for _, v := range b.Values {
		if v.Op == ir.OpCheck {
			if yes, ok := c.decide(v.Args[0], 4); ok && yes || !ok && c.impossible(v.Args[0]) {
				c.n++
				continue
			}
			if w := c.sign(v); w != nil {
				out = append(out, w)
			}
			out = append(out, c.shorten(v)...)
			c.assume(v.Args[0], true)
		}
		out = append(out, v)
	}
	b.Values = out
	if b.Term.Kind == ir.TermIf && b.Term.Cond.Op != ir.OpConst {
		if yes, ok := c.decide(b.Term.Cond, 4); ok {
			c.n++
			bit := int64(0)
			if yes {
				bit = 1
			}
			b.Term.Cond = c.f.Const(ir.TBool, bit)
		}
	}
	for _, d := range c.dom.Children[b.ID] {
		c.walk(d)
	}
	c.forget(mark)
}

// maxAlternatives limits the number of conditions that impossible considers.
const maxAlternatives = 16

// impossible reports whether a condition cannot be false, because known conditions x || y would then have two
// false operands. For example, a check of x >= n || aligned cannot fail after one of w >= n || aligned, where
// w <= x: if x < n, then w < n, so the first check has found aligned to be true.
func (c *checks) impossible(v *ir.Value) bool {
	if len(c.alternatives) == 0 {
		return false
	}
	list := c.alternatives[max(0, len(c.alternatives)-maxAlternatives):]
	return c.supposing(v, false, func() bool {
		return slices.ContainsFunc(list, func(w *ir.Value) bool {
			x, okX := c.decide(w.Args[0], 3)
			y, okY := c.decide(w.Args[1], 3)
			return okX && okY && !x && !y
		})
	})
}

// supposing returns the result of f where v is true (or false, if yes is false).
func (c *checks) supposing(v *ir.Value, yes bool, f func() bool) bool {
	mark := len(c.undo)
	defer func() { c.forget(mark) }()
	c.assume(v, yes)
	return f()
}

// sign makes a check compare an index only with 0 if the index is known to be below the length. It
// returns the new comparison, or nil.
func (c *checks) sign(v *ir.Value) *ir.Value {
	w := v.Args[0]
	if w.Op != ir.OpICmp || ir.Cond(w.Aux) != ir.ULt || isConst(w.Args[0]) || !c.nonnegative(w.Args[1]) || !c.atMost(w.Args[0], w.Args[1], -1) {
		return nil
	}
	i := w.Args[0]
	w = c.f.NewValue(ir.OpICmp, ir.TBool, i, c.f.Const(i.Type, 0))
	w.Aux, w.Pos, w.Block = int64(ir.SGe), v.Pos, v.Block
	v.Args[0] = w
	c.n++
	return w
}

// maxTerms limits the number of conditions that shorten considers.
const maxTerms = 8

// shorten changes a check that requires one of several conditions. It removes each condition that implies another one:
// !(x < w && i < n) || i >= 0 becomes !(x < w) || i >= 0, because a length n is not negative. It returns the new values.
func (c *checks) shorten(v *ir.Value) (added []*ir.Value) {
	terms := disjuncts(nil, v.Args[0], false)
	if len(terms) < 2 || len(terms) > maxTerms {
		return nil
	}
	dropped := false
	for i := 0; i < len(terms); {
		if c.implies(terms[i], slices.Concat(terms[:i], terms[i+1:])) {
			terms, dropped = slices.Delete(terms, i, i+1), true
			continue
		}
		i++
	}
	if !dropped {
		return nil
	}
	c.n++
	add := func(op ir.Op, args ...*ir.Value) *ir.Value {
		w := c.f.NewValue(op, ir.TBool, args...)
		w.Pos, w.Block = v.Pos, v.Block
		added = append(added, w)
		return w
	}
	var all *ir.Value
	for _, t := range terms {
		w := t.cond
		if t.not {
			w = add(ir.OpNot, w)
		}
		if all != nil {
			w = add(ir.OpOr, all, w)
		}
		all = w
	}
	v.Args[0] = all
	return added
}

// term is a condition or its negation.
type term struct {
	cond *ir.Value
	not  bool
}

// disjuncts appends conditions: v is true, or false if not is set, exactly if one of them holds.
func disjuncts(list []term, v *ir.Value, not bool) []term {
	switch {
	case v.Op == ir.OpNot:
		return disjuncts(list, v.Args[0], !not)
	case v.Op == ir.OpOr && !not, v.Op == ir.OpAnd && not:
		return disjuncts(disjuncts(list, v.Args[0], not), v.Args[1], not)
	}
	return append(list, term{v, not})
}

// implies reports whether one of several conditions holds if t does.
func (c *checks) implies(t term, others []term) bool {
	return c.supposing(t.cond, !t.not, func() bool {
		return slices.ContainsFunc(others, func(u term) bool {
			yes, ok := c.decide(u.cond, 3)
			return ok && yes != u.not
		})
	})
}

// assume records that v is true (or false, if yes is false) in the current subtree of the dominator
// tree.
func (c *checks) assume(v *ir.Value, yes bool) {
	if old, ok := c.known[v]; ok && old == yes || v.Op == ir.OpConst {
		return
	}
	old, had := c.known[v]
	c.known[v] = yes
	c.undo = append(c.undo, func() {
		if delete(c.known, v); had {
			c.known[v] = old
		}
	})
	switch {
	case v.Op == ir.OpNot:
		c.assume(v.Args[0], !yes)
	case v.Op == ir.OpAnd && yes, v.Op == ir.OpOr && !yes:
		c.assume(v.Args[0], yes)
		c.assume(v.Args[1], yes)
	case v.Op == ir.OpOr && yes:
		c.alternatives = append(c.alternatives, v)
		c.undo = append(c.undo, func() { c.alternatives = c.alternatives[:len(c.alternatives)-1] })
	case v.Op == ir.OpICmp && v.Args[0].Type.Kind.IsInt():
		cond := ir.Cond(v.Aux)
		if !yes {
			cond = ir.Inverse[cond]
		}
		c.relate(cond, v.Args[0], v.Args[1])
	}
}

// relate records what a comparison implies.
func (c *checks) relate(cond ir.Cond, a, b *ir.Value) {
	switch cond {
	case ir.SGt, ir.SGe, ir.UGt, ir.UGe:
		a, b, cond = b, a, swapped[cond]
	}
	switch cond {
	case ir.Eq:
		c.learn(a, b, 0)
		c.learn(b, a, 0)
	case ir.Ne:
		c.unequal(a, b)
		c.different(a, b)
		c.different(b, a)
	case ir.SLt:
		c.learn(a, b, -1)
	case ir.SLe:
		c.learn(a, b, 0)
	case ir.ULt, ir.ULe:
		if !c.nonnegative(b) { // a could be negative, too
			return
		}
		if c.rangeOf(a).lo < 0 {
			c.floor(a, 0)
		}
		if c.rangeOf(b).lo < 0 {
			c.floor(b, 0)
		}
		c.learn(a, b, int64(cond-ir.ULe))
	}
}

// different uses the fact that a is not equal to b, where b is at an end of the range of a.
func (c *checks) different(a, b *ir.Value) {
	ra, rb := c.rangeOf(a), c.rangeOf(b)
	switch {
	case rb.lo != rb.hi || ra.lo == ra.hi:
	case rb.lo == ra.lo:
		c.floor(a, ra.lo+1)
	case rb.lo == ra.hi:
		c.ceiling(a, ra.hi-1)
	}
}

// decide returns the value of a condition, if it is known.
func (c *checks) decide(v *ir.Value, depth int) (yes, ok bool) {
	if v.Op == ir.OpConst {
		return v.Aux != 0, true
	}
	if yes, ok := c.known[v]; ok {
		return yes, true
	}
	if depth == 0 {
		return false, false
	}
	switch v.Op {
	case ir.OpNot:
		yes, ok = c.decide(v.Args[0], depth-1)
		return !yes, ok
	case ir.OpAnd, ir.OpOr:
		a, okA := c.decide(v.Args[0], depth-1)
		b, okB := c.decide(v.Args[1], depth-1)
		stop := v.Op == ir.OpOr // an operand with this value determines the result
		switch {
		case okA && a == stop, okB && b == stop:
			return stop, true
		case okA && okB:
			return !stop, true
		}
	case ir.OpICmp:
		switch cond := ir.Cond(v.Aux); {
		case v.Args[0].Type.Kind.IsInt():
			return c.compare(cond, v.Args[0], v.Args[1])
		case cond <= ir.Ne && isNil(v.Args[1]) && pointsToVariable(v.Args[0]), cond <= ir.Ne && isNil(v.Args[0]) && pointsToVariable(v.Args[1]):
			return cond == ir.Ne, true
		}
	}
	return false, false
}

func isNil(p *ir.Value) bool { return p.Op == ir.OpConst && p.Type.Kind == ir.Ptr && p.Aux == 0 }

// pointsToVariable reports whether an address is derived only from local or module variables. Such
// an address is not nil. Since indices are checked, address arithmetic cannot leave the variable.
func pointsToVariable(p *ir.Value) bool {
	seen := map[*ir.Value]bool{}
	var visit func(p *ir.Value) bool
	visit = func(p *ir.Value) bool {
		switch p.Op {
		case ir.OpSlot, ir.OpGlobal:
			return true
		case ir.OpPtrAdd, ir.OpSpaceCast, ir.OpCopy:
			return visit(p.Args[0])
		case ir.OpSelect:
			return visit(p.Args[1]) && visit(p.Args[2])
		case ir.OpPhi:
			if seen[p] {
				return true // the other operands decide
			}
			seen[p] = true
			for _, a := range p.Args {
				if !visit(a) {
					return false
				}
			}
			return true
		}
		return false
	}
	return visit(p)
}

func (c *checks) compare(cond ir.Cond, a, b *ir.Value) (yes, ok bool) {
	switch cond {
	case ir.SGt, ir.SGe, ir.UGt, ir.UGe:
		a, b, cond = b, a, swapped[cond]
	}
	if cond >= ir.ULt {
		if !c.nonnegative(a) || !c.nonnegative(b) {
			return false, false
		}
		cond -= ir.ULt - ir.SLt
	}
	switch cond {
	case ir.SLt:
		if c.atMost(a, b, -1) {
			return true, true
		}
		return false, c.atMost(b, a, 0)
	case ir.SLe:
		if c.atMost(a, b, 0) {
			return true, true
		}
		return false, c.atMost(b, a, -1)
	case ir.Eq, ir.Ne:
		if c.differ[pairOf(a, b)] || c.atMost(a, b, -1) || c.atMost(b, a, -1) {
			return cond == ir.Ne, true
		}
	}
	return false, false
}
