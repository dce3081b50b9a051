package opt

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// run unrolls the loop. It adds the header of a new loop to seen.
func (p *part) run(seen map[*ir.Block]bool) {
	switch {
	case p.whole:
		p.unroller.run(p.times)
		return
	case p.fixed:
		p.extend()
		p.note()
		return
	}
	p.note()
	h := p.loop.Header
	const entry = 0
	before := addPreheader(p.f, p.loop)
	p.latch = 1
	guard := p.f.NewBlock()
	seen[guard], seen[h] = true, true
	first := map[*ir.Value]*ir.Value{}
	for _, v := range h.Values {
		if v.Op == ir.OpPhi {
			g := p.f.NewValue(ir.OpPhi, v.Type, v.Args[entry], nil)
			g.Pos = v.Pos
			first[v] = guard.Append(g)
			v.Args[entry] = g
		}
	}
	before.Term.Succs[0] = guard
	h.Preds[entry] = guard
	cond := p.guard(before, guard, first)
	at, values := guard, first
	var it, base *iteration
	for n := range p.times {
		if it = p.iteration(values); n == 0 {
			base = it
		}
		p.widen(base, it, n)
		if at == guard {
			guard.Term = ir.Term{Kind: ir.TermIf, Cond: cond, Succs: []*ir.Block{it.blocks[h], h}, Pos: h.Term.Pos}
		} else {
			p.leadBack(at, it.blocks[h])
		}
		it.blocks[h].Preds = []*ir.Block{at}
		at, values = it.blocks[h.Preds[p.latch]], p.next(it)
	}
	p.leadBack(at, guard)
	guard.Preds = []*ir.Block{before, at}
	for v, g := range first {
		g.Args[1] = values[v]
	}
}

// leadBack makes the copy of the latch continue with block to. If the latch has an exit, too, the copy's exit
// remains, although both lead to the header.
func (p *part) leadBack(latch, to *ir.Block) {
	side := 0
	if latch.Term.Kind == ir.TermIf {
		side = slices.Index(p.loop.Latches[0].Term.Succs, p.loop.Header)
	}
	latch.Term.Succs[side] = to
}

func (p *part) note() {
	p.f.Unrolled = append(p.f.Unrolled, ir.Unrolled{Pos: p.loop.Header.Term.Pos, Times: p.times})
}

// extend adds copies of the body to the loop itself, which has only one exit.
func (p *part) extend() {
	h, latch := p.loop.Header, p.loop.Latches[0]
	values := p.next(&iteration{})
	var first *ir.Block
	at := latch
	for n := range p.times - 1 {
		it := p.iteration(values)
		p.widen(&iteration{}, it, n+1)
		it.blocks[h].Preds = []*ir.Block{at}
		if first == nil {
			first = it.blocks[h]
		} else {
			retarget(at, h, it.blocks[h])
		}
		at, values = it.blocks[latch], p.next(it)
	}
	retarget(latch, h, first) // not earlier, because the copies are made of it
	h.Preds[p.latch] = at
	for v, next := range values {
		v.Args[p.latch] = next
	}
}

// iteration copies the blocks of an iteration in which the phis of the header have the given values.
func (p *part) iteration(values map[*ir.Value]*ir.Value) *iteration {
	h := p.loop.Header
	it := p.copy(p.loop.Blocks)
	for v, x := range values {
		it.values[v] = x
	}
	drop := map[*ir.Value]bool{}
	if !p.fixed {
		for v := range p.checks {
			drop[it.values[v]] = true
		}
		for v := range p.aligned {
			w := it.values[v]
			w.Args = w.Args[:len(w.Args)-1]
		}
	}
	for _, b := range p.loop.Blocks {
		c := it.blocks[b]
		c.Values = slices.DeleteFunc(c.Values, func(w *ir.Value) bool { return drop[w] })
		for _, w := range c.Values {
			for i, a := range w.Args {
				w.Args[i] = it.get(a)
			}
		}
		c.Term = b.Term
		c.Term.Succs = slices.Clone(b.Term.Succs)
		if c.Term.Cond != nil {
			c.Term.Cond = it.get(c.Term.Cond)
		}
		for i, s := range c.Term.Succs {
			if d := it.blocks[s]; d != nil && s != h {
				c.Term.Succs[i] = d
			}
		}
		if b != h {
			for _, q := range b.Preds {
				c.Preds = append(c.Preds, it.blocks[q])
			}
		}
	}
	for _, e := range p.exits {
		c := it.blocks[e.b]
		if e.test != nil {
			c.Term = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{c.Term.Succs[1-e.side]}, Pos: c.Term.Pos}
			continue
		}
		// The second loop repeats the iteration from its beginning.
		c.Term.Succs[e.side] = h
		h.Preds = append(h.Preds, c)
		for v, x := range values {
			v.Args = append(v.Args, x)
		}
	}
	return it
}

// widen makes the extensions of counters in copy n sums of those in the first copy and constants, so that
// addresses differ only by constants.
func (p *part) widen(first, it *iteration, n int) {
	for v, step := range p.wide {
		if w := it.values[v]; n > 0 {
			w.Op, w.Args = ir.OpAdd, []*ir.Value{first.get(v), p.f.Const(w.Type, int64(n)*step)}
		}
	}
}

// next returns the values of the header's phis in the iteration after it.
func (p *part) next(it *iteration) map[*ir.Value]*ir.Value {
	values := map[*ir.Value]*ir.Value{}
	for _, v := range p.loop.Header.Values {
		if v.Op == ir.OpPhi {
			values[v] = it.get(v.Args[p.latch])
		}
	}
	return values
}

// guard returns the condition that all tests and checks of the copies succeed. The bounds are computed
// in block before, and the condition in block guard.
func (p *part) guard(before, guard *ir.Block, first map[*ir.Value]*ir.Value) *ir.Value {
	var tests []*test
	for _, e := range p.exits {
		if e.test != nil {
			tests = append(tests, e.test)
		}
	}
	for _, b := range p.loop.Blocks {
		for _, v := range b.Values {
			if t := p.checks[v]; t != nil && !slices.ContainsFunc(tests, func(o *test) bool { return *o == *t }) {
				tests = append(tests, t)
			}
		}
	}
	all := p.allAligned(before)
	for _, t := range tests {
		b := builder{p.f, before, p.loop.Header.Term.Pos}
		cond, offset, limit := p.limit(&b, t)
		b.at = guard
		x := p.rebuild(&b, t.x, first)
		if offset != 0 {
			x = b.op(ir.OpAdd, x.Type, 0, x, p.f.Const(x.Type, offset))
		}
		c := b.op(ir.OpICmp, ir.TBool, int64(cond), x, limit)
		if all != nil {
			c = b.op(ir.OpAnd, ir.TBool, 0, all, c)
		}
		all = c
	}
	return all
}

// allAligned returns the condition that all vector accesses of the copies are aligned, or nil. It is computed in
// block before.
func (p *part) allAligned(before *ir.Block) (all *ir.Value) {
	b := builder{p.f, before, p.loop.Header.Term.Pos}
	var seen []*ir.Value
	for _, block := range p.loop.Blocks {
		for _, v := range block.Values {
			c := p.aligned[v]
			if c == nil || slices.Contains(seen, c) {
				continue
			}
			if seen = append(seen, c); all == nil {
				all = c
			} else {
				all = b.op(ir.OpAnd, ir.TBool, 0, all, c)
			}
		}
	}
	return all
}

// rebuild computes a value of the header's iteration from the given values of the header's phis.
func (p *part) rebuild(b *builder, v *ir.Value, first map[*ir.Value]*ir.Value) *ir.Value {
	switch {
	case first[v] != nil:
		return first[v]
	case p.invariant(v):
		return v
	}
	args := make([]*ir.Value, len(v.Args))
	for i, a := range v.Args {
		args[i] = p.rebuild(b, a, first)
	}
	return b.op(v.Op, v.Type, v.Aux, args...)
}

// limit returns a comparison of x+offset with a bound. If it holds in the first copy, the values of x in
// all copies satisfy t, and do not overflow.
func (p *part) limit(b *builder, t *test) (cond ir.Cond, offset int64, bound *ir.Value) {
	if t.by != nil {
		return p.variableLimit(b, t)
	}
	if t.step == 0 {
		return t.cond, 0, t.bound
	}
	k, kind := int64(p.times-1), t.bound.Type
	all, r := full(kind.Kind), p.order.rangeOf(t.bound)
	limited := func(op ir.Op, by int64, needed bool, end int64) *ir.Value {
		bound := t.bound
		if needed {
			bound = b.op(op, kind, 0, bound, p.f.Const(kind, end))
		}
		return b.op(ir.OpAdd, kind, 0, bound, p.f.Const(kind, by))
	}
	q := k * max(t.step, -t.step)
	if t.cond == ir.SLe || t.cond == ir.ULe || t.cond == ir.SGe || t.cond == ir.UGe {
		q-- // x <= bound is x < bound+1
	}
	switch t.cond {
	case ir.SLt, ir.SLe:
		return ir.SLt, 0, limited(ir.OpSMax, -q, r.lo < all.lo+q, all.lo+q)
	case ir.SGt, ir.SGe:
		return ir.SGt, 0, limited(ir.OpSMin, q, r.hi > all.hi-q, all.hi-q)
	case ir.ULt, ir.ULe:
		if t.step < 0 { // the last x must not be less than 0, and the first must be less than the bound
			offset = -q
		}
		return ir.ULt, offset, limited(ir.OpUMax, -q, r.lo < q, q)
	}
	return ir.UGt, 0, limited(ir.OpUMin, q, r.lo < 0 || r.hi > all.hi-q, -1-q)
}

// variableLimit is limit for a step that is not constant.
func (p *part) variableLimit(b *builder, t *test) (cond ir.Cond, offset int64, bound *ir.Value) {
	k, kind := int64(p.times-1), t.bound.Type
	all, r := full(kind.Kind), p.order.rangeOf(t.bound)
	m := b.op(ir.OpSub, kind, 0, t.bound, b.op(ir.OpMul, kind, 0, t.by, p.f.Const(kind, k)))
	if t.cond == ir.ULt { // the bound is at least 0
		return ir.ULt, 0, b.op(ir.OpSMax, kind, 0, m, p.f.Const(kind, 0))
	}
	if r.lo < all.lo+k*p.order.rangeOf(t.by).hi {
		fits := b.op(ir.OpICmp, ir.TBool, int64(ir.SLe), m, t.bound)
		m = b.op(ir.OpSelect, kind, 0, fits, m, p.f.Const(kind, all.lo))
	}
	return ir.SLt, 0, m
}

// builder appends instructions to a block.
type builder struct {
	f   *ir.Func
	at  *ir.Block
	pos ir.Pos
}

func (b *builder) op(op ir.Op, t ir.Type, aux int64, args ...*ir.Value) *ir.Value {
	v := b.f.NewValue(op, t, args...)
	v.Aux, v.Pos = aux, b.pos
	return b.at.Append(v)
}
