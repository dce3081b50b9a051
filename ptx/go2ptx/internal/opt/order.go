package opt

import (
	"math"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// order determines whether one integer is at most another. It uses the conditions of the branches
// and checks that dominate the current block, the ranges of values, and the way values are
// computed. It treats values as mathematical integers. If an addition may overflow, order does not
// consider its operands.
//
// A fact about a value in a loop applies to the current iteration. A phi's operand from a back edge
// is a value of the previous iteration, so no facts may be used for it, only the way it is
// computed.
type order struct {
	dom *ir.Tree
	// upper contains, for each value x, the known bounds x <= y + w.
	upper map[*ir.Value][]bound
	// floors and ceilings contain the constant bounds of values.
	floors, ceilings map[*ir.Value]int64
	// sums contains, for each value, the additions of constants to it, and shares those of other values.
	sums, shares map[*ir.Value][]*ir.Value
	// active contains the phis whose ranges are being computed.
	active map[*ir.Value]bool
	launch ir.Launch
	zero   *ir.Value
	undo   []func()
}

// bound states that a value is at most y + w.
type bound struct {
	y *ir.Value
	w int64
}

func newOrder(f *ir.Func, dom *ir.Tree) *order {
	o := &order{dom: dom, upper: map[*ir.Value][]bound{}, floors: map[*ir.Value]int64{}, ceilings: map[*ir.Value]int64{},
		sums: map[*ir.Value][]*ir.Value{}, shares: map[*ir.Value][]*ir.Value{}, active: map[*ir.Value]bool{}, launch: f.Launch, zero: f.Const(ir.TI64, 0)}
	var parts []ir.Part
	for _, p := range f.Params {
		parts = append(parts, p.Parts...)
	}
	params := map[int64]*ir.Value{}
	for _, b := range dom.Order {
		for _, v := range b.Values {
			switch {
			case v.Op == ir.OpParam:
				params[v.Aux] = v
			case v.Op == ir.OpAdd && isConst(v.Args[1]):
				o.sums[v.Args[0]] = append(o.sums[v.Args[0]], v)
			case v.Op == ir.OpAdd:
				for _, a := range v.Args {
					o.shares[a] = append(o.shares[a], v)
				}
			}
		}
	}
	for i, p := range parts {
		if v := params[int64(i)]; v != nil && p.Len != ir.NoLen {
			o.floors[v], o.ceilings[v] = 0, ir.MaxLen
			if c := params[int64(i)+1]; p.Len == ir.Length && c != nil {
				o.upper[v] = []bound{{c, 0}}
			}
		}
	}
	return o
}

// forget discards the facts learned since the mark, which is an earlier length of undo.
func (o *order) forget(mark int) {
	for len(o.undo) > mark {
		o.undo[len(o.undo)-1]()
		o.undo = o.undo[:len(o.undo)-1]
	}
}

// learn records that x is at most y + w.
func (o *order) learn(x, y *ir.Value, w int64) {
	w = multipleBelow(w, x, y)
	if !isConst(x) && !isConst(y) {
		o.upper[x] = append(o.upper[x], bound{y, w})
		o.undo = append(o.undo, func() { o.upper[x] = o.upper[x][:len(o.upper[x])-1] })
	}
	rx, ry := o.rangeOf(x), o.rangeOf(y)
	if hi, ok := addOK(ry.hi, w); ok && hi < rx.hi {
		o.ceiling(x, hi)
	}
	if lo, ok := subOK(rx.lo, w); ok && lo > ry.lo {
		o.floor(y, lo)
	}
}

func (o *order) set(m map[*ir.Value]int64, v *ir.Value, bound int64) {
	if isConst(v) {
		return
	}
	old, had := m[v]
	m[v] = bound
	o.undo = append(o.undo, func() {
		if delete(m, v); had {
			m[v] = old
		}
	})
}

// floor records that v is at least lo.
func (o *order) floor(v *ir.Value, lo int64) {
	o.set(o.floors, v, lo)
	if v.Op == ir.OpSMin || v.Op == ir.OpSExt32 { // so are both operands of a minimum
		for _, a := range v.Args {
			if o.rangeOf(a).lo < lo {
				o.floor(a, lo)
			}
		}
	}
}

// ceiling records that v is at most hi.
func (o *order) ceiling(v *ir.Value, hi int64) {
	o.set(o.ceilings, v, hi)
	if v.Op == ir.OpSMax || v.Op == ir.OpSExt32 {
		for _, a := range v.Args {
			if o.rangeOf(a).hi > hi {
				o.ceiling(a, hi)
			}
		}
	}
}

func (o *order) rangeOf(v *ir.Value) interval { return ranger{o.known}.of(v, 6) }

// known returns the range of a value according to the known facts and the loops that change it.
func (o *order) known(v *ir.Value, depth int) (interval, bool) {
	r := full(v.Type.Kind)
	if lo, ok := o.floors[v]; ok {
		r.lo = max(r.lo, lo)
	}
	if hi, ok := o.ceilings[v]; ok {
		r.hi = min(r.hi, hi)
	}
	if v.Op == ir.OpSpecial {
		return o.size(v, r)
	}
	if v.Op == ir.OpPhi && depth > 0 && !o.active[v] {
		o.active[v] = true
		p := o.phi(v, depth-1)
		delete(o.active, v)
		r = interval{max(r.lo, p.lo), min(r.hi, p.hi)}
	}
	return r, true
}

// size returns the range of a special register. If the kernel requires a block size, this limits
// the thread indices and the block dimensions.
func (o *order) size(v *ir.Value, r interval) (interval, bool) {
	if !o.launch.Required {
		return r, true
	}
	for d, axis := range []string{".x", ".y", ".z"} {
		switch n := int64(max(1, o.launch.Block[d])); v.Sym {
		case "%tid" + axis:
			return interval{max(r.lo, 0), min(r.hi, n-1)}, true
		case "%ntid" + axis:
			return interval{n, n}, true
		}
	}
	return r, true
}

// phi returns the range of a phi. A phi that its loop never decreases is at least its initial
// value. A phi that its loop never increases is at most that.
func (o *order) phi(v *ir.Value, depth int) interval {
	r := interval{math.MaxInt64, math.MinInt64}
	for i, a := range v.Args {
		if !o.back(v, i) {
			x := ranger{o.known}.of(a, depth)
			r = interval{min(r.lo, x.lo), max(r.hi, x.hi)}
		}
	}
	all := full(v.Type.Kind)
	if bits, ok := o.toggles(v); ok && r.lo >= 0 {
		return interval{0, ones(max(r.hi, bits))}
	}
	s := o.steps(v)
	switch {
	case s.divides && r.lo >= 0:
		return interval{0, r.hi}
	case s.divides:
		return all
	}
	if !s.up {
		r.lo = all.lo
	}
	if !s.down {
		r.hi = all.hi
	}
	return r
}

// toggles reports whether a loop changes a phi only by bit operations with constants that are not negative,
// such as an index of one of two buffers. It returns the bits that these operations can set.
func (o *order) toggles(phi *ir.Value) (bits int64, ok bool) {
	for i, a := range phi.Args {
		if !o.back(phi, i) {
			continue
		}
		for a != phi {
			if a.Op != ir.OpXor && a.Op != ir.OpOr && a.Op != ir.OpAnd || !isConst(a.Args[1]) || a.Args[1].Aux < 0 {
				return 0, false
			}
			bits |= a.Args[1].Aux
			a = a.Args[0]
		}
		ok = true
	}
	return bits, ok
}

// entry returns the only predecessor of b that b does not dominate, or nil. If b is the head of a
// loop, a fact on the edge from this predecessor holds in every iteration, because it concerns
// values from before the loop.
func (o *order) entry(b *ir.Block) (p *ir.Block) {
	for _, q := range b.Preds {
		switch {
		case o.dom.Has(q) && o.dom.Dominates(b, q):
		case p != nil:
			return nil
		default:
			p = q
		}
	}
	return p
}

// back reports whether operand i of a phi comes from an earlier iteration.
func (o *order) back(phi *ir.Value, i int) bool {
	return o.dom.Dominates(phi.Block, phi.Block.Preds[i])
}

// steps describes how a loop changes a phi. up means that the loop never decreases it, and down
// that the loop never increases it. Both are set for a phi that does not belong to a loop. divides
// means that the loop only divides the phi, or leaves it unchanged. In this case, the result is
// valid only if the initial value is at least 0.
type steps struct{ up, down, divides bool }

func (o *order) steps(phi *ir.Value) steps {
	s := steps{up: true, down: true}
	for i, a := range phi.Args {
		if !o.back(phi, i) || a == phi {
			continue
		}
		if divides(phi, a) {
			s.up, s.divides = false, true
			continue
		}
		step, ok := stepOf(phi, a)
		up := ok && step.lo >= 0 && (step.hi == 0 || o.guarded(phi, phi.Block.Preds[i], step.hi))
		down := ok && step.hi <= 0 && step.lo > math.MinInt64 && (step.lo == 0 || o.guarded(phi, phi.Block.Preds[i], step.lo))
		s.up, s.down = s.up && up, s.down && down
	}
	if s.divides && s.down { // decrements could make the phi negative, and a division would then increase it
		for i, a := range phi.Args {
			s.down = s.down && (!o.back(phi, i) || a == phi || divides(phi, a))
		}
	}
	s.divides = s.divides && s.down
	s.down = s.down && !s.divides
	return s
}

// stepOf returns the range of the value that a loop adds to a phi.
func stepOf(phi, next *ir.Value) (interval, bool) {
	switch {
	case next.Op == ir.OpAdd && next.Args[0] == phi:
		return rangeOf(next.Args[1], 4), true
	case next.Op == ir.OpAdd && next.Args[1] == phi:
		return rangeOf(next.Args[0], 4), true
	case next.Op == ir.OpSub && next.Args[0] == phi:
		r := rangeOf(next.Args[1], 4)
		if r.lo == math.MinInt64 {
			return r, false
		}
		return interval{-r.hi, -r.lo}, true
	}
	return interval{}, false
}

// divides reports whether next is phi divided by a positive number. If phi is not negative, next is
// between 0 and phi.
func divides(phi, next *ir.Value) bool {
	switch next.Op {
	case ir.OpAShr, ir.OpLShr:
		return next.Args[0] == phi && isConst(next.Args[1])
	case ir.OpSDiv, ir.OpUDiv:
		return next.Args[0] == phi && isConst(next.Args[1]) && next.Args[1].Aux > 0
	}
	return false
}

// guarded reports whether phi plus step cannot overflow at the end of block b, because a branch
// that dominates b compares phi with another value.
func (o *order) guarded(phi *ir.Value, b *ir.Block, step int64) bool {
	all := full(phi.Type.Kind)
	for ; b != phi.Block && b != nil; b = o.dom.Idom[b.ID] {
		p := o.entry(b)
		if p == nil {
			continue
		}
		t := p.Term
		if t.Kind != ir.TermIf || t.Succs[0] == t.Succs[1] || t.Cond.Op != ir.OpICmp || !t.Cond.Args[0].Type.Kind.IsInt() {
			continue
		}
		cond, x, y := ir.Cond(t.Cond.Aux), t.Cond.Args[0], t.Cond.Args[1]
		if t.Succs[1] == b {
			cond = ir.Inverse[cond]
		}
		if y == phi {
			cond, x, y = swapped[cond], y, x
		}
		if x != phi {
			continue
		}
		r := rangeOf(y, 4)
		if y.Block != nil && y.Block != phi.Block && o.dom.Dominates(y.Block, phi.Block) {
			r = o.rangeOf(y) // facts about a value from before the loop hold in every iteration
		}
		switch {
		case step > 0 && (cond == ir.SLt || cond == ir.SLe):
			if cond == ir.SLt && r.hi > all.lo {
				r.hi--
			}
			return r.hi <= all.hi-step
		case step < 0 && (cond == ir.SGt || cond == ir.SGe):
			if cond == ir.SGt && r.lo < all.hi {
				r.lo++
			}
			return r.lo >= all.lo-step
		}
	}
	return false
}

// A question asks whether x is at most y + w.
type question struct{ x, y *ir.Value }

// search tries to prove that one value is at most another.
type search struct {
	*order
	fuel int
	// asked contains the largest w for which each question was asked.
	asked map[question]int64
}

// nonnegative reports whether v is known to be at least 0.
func (o *order) nonnegative(v *ir.Value) bool {
	return o.rangeOf(v).lo >= 0 || o.atMost(o.zero, v, 0)
}

// atMost reports whether x <= y + w can be proved.
func (o *order) atMost(x, y *ir.Value, w int64) bool {
	s := search{o, 150, map[question]int64{}}
	return s.atMost(x, y, w)
}

func (s *search) atMost(x, y *ir.Value, w int64) bool {
	if x == y {
		return w >= 0
	}
	rx, ry := s.rangeOf(x), s.rangeOf(y)
	if d, ok := subOK(rx.hi, ry.lo); ok && d <= w {
		return true
	}
	if old, ok := s.asked[question{x, y}]; s.fuel == 0 || ok && old >= w {
		return false
	}
	s.asked[question{x, y}] = w
	s.fuel--
	for _, b := range s.upper[x] {
		if v, ok := subOK(w, b.w); ok && s.atMost(b.y, y, v) {
			return true
		}
	}
	return s.byForm(x, y, w) || s.byParts(x, y, w) || s.bySums(x, y, w) || s.byShares(x, y, w)
}

// exact reports whether an addition, subtraction or multiplication cannot overflow.
func (s *search) exact(v *ir.Value) bool {
	a, b := s.rangeOf(v.Args[0]), s.rangeOf(v.Args[1])
	op := v.Op
	if op == ir.OpShl {
		if !isConst(v.Args[1]) || v.Args[1].Aux < 0 || v.Args[1].Aux > 40 {
			return false
		}
		op, b = ir.OpMul, interval{1 << v.Args[1].Aux, 1 << v.Args[1].Aux}
	}
	r := arith(op, a, b)
	return r != interval{math.MinInt64, math.MaxInt64} && r.within(full(v.Type.Kind).lo, full(v.Type.Kind).hi)
}

// byForm uses the way x is computed to find a greater or equal value that is easier to compare with
// y.
func (s *search) byForm(x, y *ir.Value, w int64) bool {
	arg := func(i int) *ir.Value { return x.Args[i] }
	less := func(i int, d int64) bool { // x <= operand i + d
		v, ok := subOK(w, d)
		return ok && s.atMost(arg(i), y, v)
	}
	switch x.Op {
	case ir.OpAdd:
		return s.exact(x) && (less(0, s.rangeOf(arg(1)).hi) || less(1, s.rangeOf(arg(0)).hi)) || s.remainder(arg(0), arg(1), y, w) || s.remainder(arg(1), arg(0), y, w)
	case ir.OpSub:
		lo := s.rangeOf(arg(1)).lo
		return lo > math.MinInt64 && s.exact(x) && less(0, -lo)
	case ir.OpSExt32:
		return less(0, 0)
	case ir.OpZExt32, ir.OpLShr, ir.OpAShr:
		return s.sign(arg(0)) && less(0, 0)
	case ir.OpUDiv, ir.OpSDiv:
		return s.sign(arg(0)) && s.rangeOf(arg(1)).lo > 0 && less(0, 0)
	case ir.OpURem, ir.OpSRem:
		return s.sign(arg(0)) && (less(0, 0) || s.rangeOf(arg(1)).lo > 0 && less(1, -1))
	case ir.OpAnd:
		return s.sign(arg(0)) && less(0, 0) || s.sign(arg(1)) && less(1, 0)
	case ir.OpSMin:
		return less(0, 0) || less(1, 0)
	case ir.OpUMin:
		return s.sign(arg(0)) && s.sign(arg(1)) && (less(0, 0) || less(1, 0))
	case ir.OpSMax:
		return less(0, 0) && less(1, 0)
	case ir.OpSelect:
		return less(1, 0) && less(2, 0)
	case ir.OpTrunc:
		return s.rangeOf(arg(0)).within(math.MinInt32, math.MaxInt32) && less(0, 0)
	case ir.OpPhi:
		return s.phi(x, func(a *ir.Value) bool { return s.atMost(a, y, w) }, false)
	case ir.OpMul, ir.OpShl:
		return s.product(x, y, w)
	}
	return false
}

// sign reports whether v cannot be negative, according to its range.
func (s *search) sign(v *ir.Value) bool { return s.rangeOf(v).lo >= 0 }

// byParts uses the way y is computed.
func (s *search) byParts(x, y *ir.Value, w int64) bool {
	arg := func(i int) *ir.Value { return y.Args[i] }
	more := func(i int, d int64) bool { // y >= operand i + d
		v, ok := addOK(w, d)
		return ok && s.atMost(x, arg(i), v)
	}
	switch y.Op {
	case ir.OpAdd:
		if !s.exact(y) {
			return false
		}
		if x.Op == ir.OpAdd && s.exact(x) { // the sums may have a common operand
			for i, a := range x.Args {
				for j, b := range y.Args {
					if a == b && s.atMost(x.Args[1-i], y.Args[1-j], w) {
						return true
					}
				}
			}
		}
		return more(0, s.rangeOf(arg(1)).lo) || more(1, s.rangeOf(arg(0)).lo)
	case ir.OpSub:
		if !s.exact(y) {
			return false
		}
		if hi := s.rangeOf(x).hi; hi < math.MaxInt32 && hi > math.MinInt32 { // hi <= a - b + w if b <= a + w - hi
			if v, ok := subOK(w, hi); ok && s.atMost(arg(1), arg(0), v) {
				return true
			}
		}
		hi := s.rangeOf(arg(1)).hi
		return hi < math.MaxInt64 && more(0, -hi)
	case ir.OpSExt32:
		return more(0, 0)
	case ir.OpZExt32:
		return s.sign(arg(0)) && more(0, 0)
	case ir.OpMul, ir.OpShl:
		z, _, ok := scaled(y)
		return ok && s.sign(z) && s.exact(y) && more(0, 0)
	case ir.OpSMax:
		return more(0, 0) || more(1, 0)
	case ir.OpSMin:
		return more(0, 0) && more(1, 0)
	case ir.OpSelect:
		return more(1, 0) && more(2, 0)
	case ir.OpTrunc:
		return s.rangeOf(arg(0)).within(math.MinInt32, math.MaxInt32) && more(0, 0)
	case ir.OpPhi:
		return s.phi(y, func(a *ir.Value) bool { return s.atMost(x, a, w) }, true)
	}
	return false
}

// phi reports whether a bound holds for a phi. It must hold for all initial values, and the loop,
// if any, must change the phi only in the direction that preserves the bound.
func (s *search) phi(v *ir.Value, holds func(*ir.Value) bool, up bool) bool {
	if st := s.steps(v); up && !st.up || !up && !st.down {
		return false
	}
	for i, a := range v.Args {
		if !s.back(v, i) && !holds(a) {
			return false
		}
	}
	return true
}

// remainder uses a fact p <= u - q + d to prove p + q <= u + d.
func (s *search) remainder(p, q, y *ir.Value, w int64) bool {
	for _, b := range s.upper[p] {
		left, ok := subOK(w, b.w)
		if !ok || !s.sign(p) || !s.sign(q) {
			continue
		}
		sides := []*ir.Value{b.y}
		if b.y.Op == ir.OpSMin {
			sides = b.y.Args
		}
		for _, u := range sides {
			if u.Op == ir.OpSub && u.Args[1] == q && s.exact(u) && b.w <= 0 && s.atMost(u.Args[0], y, left) {
				return true
			}
		}
	}
	return false
}

// product uses a fact x <= z + d, where z is at most u/k, to prove x·k <= u + d·k.
func (s *search) product(v, y *ir.Value, w int64) bool {
	x, k, ok := scaled(v)
	if !ok || !s.exact(v) {
		return false
	}
	if z, l, ok := scaled(y); ok && l == k && s.exact(y) && w >= 0 && s.atMost(x, z, 0) {
		return true
	}
	for _, b := range s.upper[x] {
		u, d, ok := quotient(b.y)
		if !ok || d != k || !s.sign(u) || b.w > 0 || b.w < math.MinInt32 {
			continue
		}
		if left, ok := subOK(w, b.w*k); ok && s.atMost(u, y, left) {
			return true
		}
	}
	return false
}

// scaled returns the factors of a product of a value and a positive constant.
func scaled(v *ir.Value) (x *ir.Value, k int64, ok bool) {
	switch {
	case v.Op == ir.OpMul && isConst(v.Args[1]):
		x, k = v.Args[0], v.Args[1].Aux
	case v.Op == ir.OpShl && isConst(v.Args[1]) && v.Args[1].Aux >= 0 && v.Args[1].Aux < 31:
		x, k = v.Args[0], 1<<v.Args[1].Aux
	}
	return x, k, k > 0 && k <= math.MaxInt32
}

// quotient returns the dividend and the divisor of a division by a positive constant. The caller
// must ensure that the dividend is not negative.
func quotient(v *ir.Value) (u *ir.Value, k int64, ok bool) {
	switch {
	case (v.Op == ir.OpSDiv || v.Op == ir.OpUDiv) && isConst(v.Args[1]):
		u, k = v.Args[0], v.Args[1].Aux
	case (v.Op == ir.OpAShr || v.Op == ir.OpLShr) && isConst(v.Args[1]) && v.Args[1].Aux >= 0 && v.Args[1].Aux < 31:
		u, k = v.Args[0], 1<<v.Args[1].Aux
	}
	return u, k, k > 0 && k <= math.MaxInt32
}
