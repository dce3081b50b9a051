package opt

import (
	"math"
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Limits of partial unrolling: how many iterations become one, how many values their copies may have
// together, and how many bytes of global memory they may load. If the step is not constant, the copies
// share no addresses, so only their loads gain, and the limit for these is lower. All limits are higher
// if the number of iterations is known, because no loop for the remaining iterations is necessary then.
// Tiny bodies do not have more copies. If the threads of a block share a row, its loop often has only four
// iterations for each thread, and with eight copies the second loop would execute all of them.
const (
	partTimes, partValues   = 4, 160
	fixedTimes, fixedValues = 16, 1000
	fixedBody               = 50 // the size of the largest body of which there are so many copies
	mostLoaded              = 96
	mostLoadedByVariable    = 16
	divisionValues          = 8 // the size of a division or square root
	mostChecks              = 8 // how many checks the condition of the first loop may include
)

// unrollPart unrolls inner loops that unroll cannot remove, because their numbers of iterations are
// not constant or too large. A loop
//
//	for i := a; i < n; i += s { body }
//
// becomes
//
//	i := a
//	for ; i < n-3*s; i += 4*s { four copies of body, without tests }
//	for ; i < n; i += s { body }
//
// where n-3*s is limited so that it does not overflow. If the number of iterations is known to be a
// multiple of the number of copies, the second loop is omitted.
//
// If the alignment of vector accesses is the same in all iterations, but not known, the first loop requires
// it. Its copies then need no other accesses for vectors that are not aligned.
//
// The loop may have other exits if these come before everything that writes memory. A copy then tests
// its exit and, if the loop ends there, continues with the second loop, which repeats the tests. Threads
// that execute a copy together may be others than those that execute an iteration together. Therefore
// a loop with a convergent operation is not unrolled.
func unrollPart(f *ir.Func) int {
	n := 0
	seen := map[*ir.Block]bool{}
	for {
		p := findPart(f, seen)
		if p == nil {
			return n
		}
		p.run(seen)
		n++
	}
}

// part unrolls one loop partially.
type part struct {
	unroller
	order *order
	latch int // position of the latch in the header's predecessors
	exits []exit
	// checks contains the checks that cannot fail in the copies, because the first loop continues only
	// if the checks of all copies will succeed.
	checks map[*ir.Value]*test
	// aligned contains the conditions of vector accesses that are the same in all iterations. The first
	// loop requires them.
	aligned map[*ir.Value]*ir.Value
	// wide contains the extensions of counters that do not overflow in the copies, with their steps.
	wide   map[*ir.Value]int64
	times  int
	loaded int  // bytes of global memory that an iteration loads
	fixed  bool // the number of iterations is a multiple of times
	whole  bool // the number of iterations is times
}

// exit is an edge that leaves the loop.
type exit struct {
	b    *ir.Block
	side int   // the successor of b outside the loop
	test *test // nil if every copy must test
}

// test is the condition for staying in the loop: x cond bound. Each iteration adds step to x, or by if
// by is not nil.
type test struct {
	x, bound *ir.Value
	cond     ir.Cond
	step     int64
	by       *ir.Value
}

// findPart returns the first loop to unroll that is not in seen, inner loops first.
func findPart(f *ir.Func, seen map[*ir.Block]bool) *part {
	dom := f.Dominators()
	loops := f.Loops(dom)
	if len(loops.Odd) > 0 {
		return nil
	}
	var o *order
	for _, l := range slices.Backward(loops.All) {
		if seen[l.Header] {
			continue
		}
		seen[l.Header] = true
		if o == nil {
			o = newOrder(f, dom)
		}
		p := &part{unroller: unroller{f: f, loops: loops, loop: l}, order: o, checks: map[*ir.Value]*test{},
			aligned: map[*ir.Value]*ir.Value{}, wide: map[*ir.Value]int64{}}
		if p.suitable() {
			return p
		}
	}
	return nil
}

// suitable reports whether the loop can be unrolled and should be. It sets the fields of p.
func (p *part) suitable() bool {
	h := p.loop.Header
	if len(p.loop.Latches) != 1 || h.Cold || h.Unroll == 1 {
		return false
	}
	p.latch = slices.Index(h.Preds, p.loop.Latches[0])
	for _, b := range p.loop.Blocks {
		unsuitable := func(v *ir.Value) bool { return v.Effects()&^(ir.Reads|ir.Writes|ir.Faults) != 0 }
		if p.loops.Of[b.ID] != p.loop || slices.ContainsFunc(b.Values, unsuitable) {
			return false
		}
	}
	return p.findExits() && p.choose(p.size())
}

// size returns the size of the body. It also finds the checks that the copies do not need, and the
// extensions of counters.
func (p *part) size() int {
	size := 0
	for _, b := range p.loop.Blocks {
		for _, v := range b.Values {
			if c := alignmentOf(v); c != nil && p.invariant(c) {
				p.aligned[v] = c
			}
			switch v.Op {
			case ir.OpPhi, ir.OpExtract, ir.OpPin:
			case ir.OpLoad, ir.OpLoadV:
				if s := v.Args[0].Type.Space; s == ir.Global || s == ir.Generic {
					p.loaded += max(v.N, 1) * v.Mem.Size()
				}
				size++
			case ir.OpStore, ir.OpStoreV:
				size++
			case ir.OpFDiv, ir.OpFSqrt, ir.OpSDiv, ir.OpUDiv, ir.OpSRem, ir.OpURem:
				size += divisionValues
			case ir.OpCheck:
				if t := p.test(v.Args[0], true); t != nil && len(p.checks) < mostChecks {
					p.checks[v] = t
					continue
				}
				size += 3
			case ir.OpSExt32, ir.OpZExt32:
				if s, ok := p.step(v, 1); ok && p.order.dom.Dominates(b, p.loop.Latches[0]) {
					p.wide[v] = s
				}
				size++
			default:
				size++
			}
		}
		if b.Term.Kind == ir.TermIf {
			size++
		}
	}
	return size
}

// findExits finds the edges that leave the loop. It fails if no test can be omitted, or if an exit
// cannot be repeated.
func (p *part) findExits() bool {
	counted := false
	for _, b := range p.loop.Blocks {
		for i, s := range b.Term.Succs {
			if p.loops.Contains(p.loop, s) {
				continue
			}
			e := exit{b: b, side: i}
			if b.Term.Kind == ir.TermIf {
				e.test = p.test(b.Term.Cond, i == 1)
			}
			if e.test != nil && e.test.step == 0 && e.test.by == nil {
				e.test = nil
			}
			if e.test == nil && !p.repeatable(b) {
				return false
			}
			counted = counted || e.test != nil
			p.exits = append(p.exits, e)
		}
	}
	return counted
}

// repeatable reports whether an iteration can be repeated from its beginning if the loop is left from b:
// there is one path to b, and nothing on it writes to memory.
func (p *part) repeatable(b *ir.Block) bool {
	for at := p.loop.Header; ; {
		if slices.ContainsFunc(at.Values, func(v *ir.Value) bool { return v.Effects()&^ir.Reads != 0 }) {
			return false
		}
		if at == b {
			return true
		}
		var next *ir.Block
		for _, s := range at.Term.Succs {
			if p.loops.Contains(p.loop, s) {
				if next != nil {
					return false
				}
				next = s
			}
		}
		if next == nil || next == p.loop.Header || len(next.Preds) != 1 {
			return false
		}
		at = next
	}
}

func (p *part) invariant(v *ir.Value) bool {
	return v.Op == ir.OpConst || !p.loops.Contains(p.loop, v.Block)
}

// test returns the comparison that makes c true, or false if yes is false. It fails if the result in later
// iterations does not follow from the operands in the first one.
func (p *part) test(c *ir.Value, yes bool) *test {
	if c.Op != ir.OpICmp || !c.Args[0].Type.Kind.IsInt() {
		return nil
	}
	t := &test{x: c.Args[0], bound: c.Args[1], cond: ir.Cond(c.Aux)}
	if !yes {
		t.cond = ir.Inverse[t.cond]
	}
	if p.invariant(t.x) {
		t.x, t.bound, t.cond = t.bound, t.x, swapped[t.cond]
	}
	if !p.invariant(t.bound) {
		return nil
	}
	ok := false
	if t.step, ok = p.step(t.x, 8); !ok {
		t.by = p.variableStep(t.x)
		if t.by == nil {
			return nil
		}
	}
	positive := p.order.nonnegative(t.bound)
	if (t.cond == ir.ULt || t.cond == ir.ULe) == (t.by != nil || t.step > 0) && t.cond >= ir.ULt && positive && p.order.nonnegative(t.x) {
		t.cond -= ir.ULt - ir.SLt
	}
	switch {
	case t.by != nil:
		ok = t.cond == ir.SLt || t.cond == ir.ULt && positive
	case t.step == 0:
		ok = true
	case t.cond == ir.ULt:
		ok = t.step > -1<<24 && t.step < 1<<24
	case t.cond == ir.SLt || t.cond == ir.SLe || t.cond == ir.ULe:
		ok = t.step > 0 && t.step < 1<<24
	case t.cond == ir.SGt || t.cond == ir.SGe || t.cond == ir.UGt || t.cond == ir.UGe:
		ok = t.step < 0 && t.step > -1<<24
	default:
		ok = false
	}
	if !ok {
		return nil
	}
	return t
}

// step returns the constant that an iteration adds to v.
func (p *part) step(v *ir.Value, depth int) (int64, bool) {
	if p.invariant(v) {
		return 0, true
	}
	if depth == 0 {
		return 0, false
	}
	arg := func(i int) (int64, bool) { return p.step(v.Args[i], depth-1) }
	var s int64
	switch v.Op {
	case ir.OpPhi:
		if v.Block != p.loop.Header {
			return 0, false
		}
		for next := v.Args[p.latch]; next != v; next = next.Args[0] {
			if next.Op != ir.OpAdd || !isConst(next.Args[1]) {
				return 0, false
			}
			s += next.Args[1].Aux
		}
	case ir.OpSExt32, ir.OpZExt32:
		if !p.exact(v) {
			return 0, false
		}
		return p.step(v.Args[0], depth)
	case ir.OpAdd, ir.OpSub:
		a, okA := arg(0)
		b, okB := arg(1)
		if !okA || !okB {
			return 0, false
		}
		if s = a + b; v.Op == ir.OpSub {
			s = a - b
		}
	case ir.OpMul, ir.OpShl:
		if !isConst(v.Args[1]) {
			return 0, false
		}
		a, ok := arg(0)
		if !ok || v.Op == ir.OpShl && uint64(v.Args[1].Aux) >= 32 {
			return 0, false
		}
		if s = a * v.Args[1].Aux; v.Op == ir.OpShl {
			s = a << v.Args[1].Aux
		}
	default:
		return 0, false
	}
	return ir.Canonical(v.Type.Kind, s), true
}

// exact reports whether the operand of an extension cannot overflow in the copies, because a test
// compares it.
func (p *part) exact(v *ir.Value) bool {
	for _, e := range p.exits {
		if e.test == nil || e.test.x != v.Args[0] || e.test.by != nil {
			continue
		}
		switch signed := e.test.cond < ir.ULt; {
		case v.Op == ir.OpSExt32 && signed, v.Op == ir.OpZExt32 && !signed, v.Op == ir.OpZExt32 && e.test.step > 0 && p.order.nonnegative(v.Args[0]):
			return true
		}
	}
	return false
}

// variableStep returns the value that an iteration adds to a phi, if it is not constant, not negative and
// so small that a few of it cannot overflow.
func (p *part) variableStep(v *ir.Value) *ir.Value {
	if v.Op != ir.OpPhi || v.Block != p.loop.Header {
		return nil
	}
	next := v.Args[p.latch]
	if next.Op != ir.OpAdd {
		return nil
	}
	by := next.Args[1]
	if by == v {
		by = next.Args[0]
	} else if next.Args[0] != v {
		return nil
	}
	if !p.invariant(by) || !p.order.rangeOf(by).within(0, full(v.Type.Kind).hi/mostTrips) {
		return nil
	}
	return by
}

// choose determines how many iterations become one. It fails if that is fewer than two.
func (p *part) choose(size int) bool {
	if n := p.loop.Header.Unroll; n > 0 {
		trips, ok := p.known()
		p.times, p.fixed = n, ok && trips > 0 && trips%int64(n) == 0
		return n > 1 && n*size <= mostValues
	}
	if n, ok := p.known(); ok && n > 0 {
		most := min(fixedTimes, int64(fixedValues/(size+3*len(p.checks))), n)
		if _, _, ok := p.edges(); ok && most == n {
			p.times, p.whole = int(n), true
			return true
		}
		for k := most; k >= partTimes && size <= fixedBody && len(p.checks) == 0; k-- {
			if n%k == 0 {
				p.times, p.fixed = int(k), true
				return true
			}
		}
	}
	most := mostLoaded
	for _, e := range p.exits {
		if e.test != nil && e.test.by != nil {
			most = mostLoadedByVariable
		}
	}
	p.times = partTimes
	for p.times > 1 && (p.times*size > partValues || p.times*p.loaded > most || p.few()) {
		p.times /= 2
	}
	return p.times > 1
}

// known returns the number of iterations, if it is constant.
func (p *part) known() (int64, bool) {
	if len(p.exits) != 1 || p.exits[0].b != p.loop.Header || p.loop.Header == p.loop.Latches[0] {
		return 0, false
	}
	low, high := p.trips(p.exits[0].test)
	return high, low == high
}

// few reports whether the loop is known to have so few iterations that unrolling does not pay.
func (p *part) few() bool {
	for _, e := range p.exits {
		if e.test != nil {
			if _, high := p.trips(e.test); high < 2*int64(p.times) {
				return true
			}
		}
	}
	return false
}

// trips returns the smallest and the largest possible number of iterations until a test fails.
func (p *part) trips(t *test) (low, high int64) {
	low, high = 0, math.MaxInt64
	unsigned := (t.cond == ir.ULt || t.cond == ir.ULe) && t.step > 0
	if t.by != nil || t.x.Op != ir.OpPhi || !unsigned && (t.cond < ir.SLt || t.cond > ir.SGe) {
		return low, high
	}
	start := interval{math.MaxInt64, math.MinInt64}
	for i, a := range t.x.Args {
		if i != p.latch {
			r := p.order.rangeOf(a)
			start = interval{min(start.lo, r.lo), max(start.hi, r.hi)}
		}
	}
	end, step := p.order.rangeOf(t.bound), t.step
	if const1 := int64(1 << 60); !start.within(-const1, const1) || !end.within(-const1, const1) {
		return low, high
	}
	if unsigned && (start.lo < 0 || end.lo < 0) {
		return low, high
	}
	if step < 0 {
		start, end, step = interval{-start.hi, -start.lo}, interval{-end.hi, -end.lo}, -step
	}
	if t.cond == ir.SLe || t.cond == ir.SGe || t.cond == ir.ULe {
		end = interval{end.lo + 1, end.hi + 1}
	}
	count := func(from, to int64) int64 { return (max(to-from, 0) + step - 1) / step }
	return count(start.hi, end.lo), count(start.lo, end.hi)
}
