package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// removeChecks removes checks and resolves branches whose conditions are known, either from an
// earlier check or branch or from the ranges of the operands.
func removeChecks(f *ir.Func) int {
	c := &checks{f: f, dom: f.Dominators(), known: map[*ir.Value]bool{}, below: map[[2]*ir.Value]int{}, floors: map[*ir.Value]int64{}}
	if len(c.dom.Order) > 0 {
		c.walk(f.Blocks[0])
	}
	return c.n
}

type checks struct {
	f     *ir.Func
	dom   *ir.Tree
	known map[*ir.Value]bool
	// below contains the pairs x, y for which x < y is known (signed). floors contains known lower
	// bounds.
	below  map[[2]*ir.Value]int
	floors map[*ir.Value]int64
	undo   []func()
	n      int
}

func (c *checks) walk(b *ir.Block) {
	mark := len(c.undo)
	if len(b.Preds) == 1 {
		if t := b.Preds[0].Term; t.Kind == ir.TermIf && t.Succs[0] != t.Succs[1] {
			c.learn(t.Cond, t.Succs[0] == b)
		}
	}
	out := b.Values[:0]
	for _, v := range b.Values {
		if v.Op == ir.OpCheck {
			if yes, ok := c.decide(v.Args[0], 4); ok && yes {
				c.n++
				continue
			}
			c.learn(v.Args[0], true)
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
	for len(c.undo) > mark {
		c.undo[len(c.undo)-1]()
		c.undo = c.undo[:len(c.undo)-1]
	}
}

// learn records that v is true (or false, if yes is false) in the current subtree of the dominator
// tree.
func (c *checks) learn(v *ir.Value, yes bool) {
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
		c.learn(v.Args[0], !yes)
	case v.Op == ir.OpAnd && yes, v.Op == ir.OpOr && !yes:
		c.learn(v.Args[0], yes)
		c.learn(v.Args[1], yes)
	case v.Op == ir.OpICmp && v.Args[0].Type.Kind.IsInt():
		cond := ir.Cond(v.Aux)
		if !yes {
			cond = inverse[cond]
		}
		c.relate(cond, v.Args[0], v.Args[1])
	}
}

// relate records what a comparison implies about signed order and lower bounds.
func (c *checks) relate(cond ir.Cond, a, b *ir.Value) {
	switch cond {
	case ir.SGt, ir.SGe, ir.UGt, ir.UGe:
		a, b, cond = b, a, swapped[cond]
	}
	switch cond {
	case ir.SLt:
		c.less(a, b)
		c.floor(b, c.low(a)+1)
	case ir.SLe:
		c.floor(b, c.low(a))
	case ir.ULt:
		if c.low(b) >= 0 {
			c.floor(a, 0)
			c.less(a, b)
		}
	}
}

func (c *checks) less(a, b *ir.Value) {
	k := [2]*ir.Value{a, b}
	c.below[k]++
	c.undo = append(c.undo, func() { c.below[k]-- })
}

func (c *checks) floor(v *ir.Value, lo int64) {
	if v.Op == ir.OpConst || lo <= c.low(v) {
		return
	}
	old, had := c.floors[v]
	c.floors[v] = lo
	c.undo = append(c.undo, func() {
		if delete(c.floors, v); had {
			c.floors[v] = old
		}
	})
}

// low returns a lower bound of a value.
func (c *checks) low(v *ir.Value) int64 {
	lo := rangeOf(v, 6).lo
	if f, ok := c.floors[v]; ok {
		lo = max(lo, f)
	}
	if v.Op == ir.OpPhi {
		if r, ok := c.counted(v); ok {
			lo = max(lo, r)
		}
	}
	return lo
}

// counted returns the initial value of a loop counter: a phi that is only incremented by one, and
// only while it is less than some other value. Such a counter cannot overflow.
func (c *checks) counted(phi *ir.Value) (int64, bool) {
	lo, steps := int64(1<<62), 0
	for i, a := range phi.Args {
		if a.Op == ir.OpAdd && a.Args[0] == phi && a.Args[1].IsConst(1) {
			if !c.bounded(phi, phi.Block.Preds[i]) {
				return 0, false
			}
			steps++
			continue
		}
		if c.dom.Dominates(phi.Block, phi.Block.Preds[i]) {
			return 0, false
		}
		lo = min(lo, rangeOf(a, 4).lo)
	}
	return lo, steps > 0
}

// bounded reports whether block b is only reached if v is less than some other value, according to
// a branch that dominates b.
func (c *checks) bounded(v *ir.Value, b *ir.Block) bool {
	for ; b != nil; b = c.dom.Idom[b.ID] {
		if len(b.Preds) != 1 {
			continue
		}
		t := b.Preds[0].Term
		if t.Kind != ir.TermIf || t.Succs[0] == t.Succs[1] || t.Cond.Op != ir.OpICmp {
			continue
		}
		cond := ir.Cond(t.Cond.Aux)
		if t.Succs[1] == b {
			cond = inverse[cond]
		}
		x, y := t.Cond.Args[0], t.Cond.Args[1]
		if cond == ir.SLt && x == v || cond == ir.SGt && y == v {
			return true
		}
	}
	return false
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
	loA, loB := c.low(a), c.low(b)
	hiA, hiB := rangeOf(a, 6).hi, rangeOf(b, 6).hi
	if cond >= ir.ULt {
		if loA < 0 || loB < 0 {
			return false, false
		}
		cond -= ir.ULt - ir.SLt
	}
	switch cond {
	case ir.SLt:
		if hiA < loB || c.below[[2]*ir.Value{a, b}] > 0 {
			return true, true
		}
		return false, loA >= hiB || c.below[[2]*ir.Value{b, a}] > 0
	case ir.SLe:
		if hiA <= loB || c.below[[2]*ir.Value{a, b}] > 0 {
			return true, true
		}
		return false, loA > hiB || c.below[[2]*ir.Value{b, a}] > 0
	case ir.Eq, ir.Ne:
		if hiA < loB || hiB < loA || c.below[[2]*ir.Value{a, b}] > 0 || c.below[[2]*ir.Value{b, a}] > 0 {
			return cond == ir.Ne, true
		}
	}
	return false, false
}
