package emit

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// fn is the state while a function is emitted.
type fn struct {
	m        *module
	f        *ir.Func
	b        *build.Func
	params   []*build.Param
	results  *build.Param
	slots    []*build.Var
	regs     []build.Reg        // indexed by value ID
	need     []bool             // indexed by value ID: whether the value must be in a register
	uses     []int              // indexed by value ID: how often the value is used
	user     []*ir.Value        // indexed by value ID: an instruction that uses the value, or nil
	groups   []*group           // indexed by value ID: values that share a register, or nil
	indices  map[*ir.Value]int  // in how many products of 32-bit numbers to 64-bit ones a value is the first factor
	products map[*ir.Value]bool // the shifts that are emitted as products
	hidden   map[*ir.Var]bool   // shared variables whose addresses ptxas must not know
	tuples   map[*ir.Value][]build.Reg
	parts    map[part]*ir.Value      // the OpExtract that stands for all of the same result
	second   map[*ir.Value]*ir.Value // for a half of a value, the other half, if the same instruction computes it
	isSecond map[*ir.Value]bool
	labels   []build.Label  // indexed by block ID
	skipped  []*ir.Block    // indexed by block ID: for a block without code, the block that follows it
	ahead    []*ir.Block    // indexed by block ID: the block whose copies for phis precede the branch
	guarded  []*ir.Block    // indexed by block ID: the block that is executed with a predicate instead of a branch
	with     *build.Guarded // the predicate of the instructions, or nil
	checks   []*ir.Value    // checks without a branch so far
	loops    *ir.Loops
	fails    []failure
	late     []func() // emit code that follows the blocks
	out      report
	places   map[ir.Pos]int32 // for each position, the call chain (ir.Pos.Inline) of its latest .loc
	at       ir.Pos
}

func (x *fn) fail(format string, args ...any) { x.b.Fail(fmt.Sprintf(format, args...)) }

// declareSlots declares the variables in local memory that instructions use. Ptxas would reserve memory
// for the others, too.
func (x *fn) declareSlots() {
	x.slots = make([]*build.Var, len(x.f.Slots))
	for _, b := range x.f.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpSlot && x.slots[v.Aux] == nil {
				s := x.f.Slots[v.Aux]
				x.slots[v.Aux] = x.b.Local(fmt.Sprintf("slot%d", v.Aux), ptx.B8, int64(max(s.Size, 1))).Align(max(s.Align, 1))
			}
		}
	}
}

func (x *fn) emit() {
	if len(x.f.Blocks) == 0 {
		x.fail("the function has no blocks")
		return
	}
	splitEdges(x.f)
	x.complement(x.f.ReversePostorder())
	x.loops = x.f.Loops(x.f.Dominators())
	x.declareSlots()
	x.regs = make([]build.Reg, x.f.NumValues())
	x.tuples, x.parts = map[*ir.Value][]build.Reg{}, map[part]*ir.Value{}
	x.labels = make([]build.Label, x.f.NumBlocks())
	order := layout(x.f)
	x.prepareReport()
	x.hideVars()
	x.findNeeds(order)
	x.groups = make([]*group, x.f.NumValues())
	s := x.share(order)
	x.pairHalves(order)
	order = x.skip(order)
	x.early(order, s)
	order = slices.DeleteFunc(order, func(b *ir.Block) bool { return x.skipped[b.ID] != nil })
	order = x.guard(order)
	order, failing := x.failing(order)
	x.name(order)
	for _, v := range failing {
		if l := x.labels[v.Block.ID]; l != (build.Label{}) {
			x.fails = append(x.fails, failure{[]*ir.Value{v}, l})
		}
	}
	for i, b := range order {
		if l := x.labels[b.ID]; l != (build.Label{}) {
			x.b.Place(l)
		}
		x.instructions(b)
		x.term(b, following(order, i))
	}
	for _, emit := range x.late {
		emit()
	}
	x.failures()
}

// instructions emits the instructions of a block, without its end.
func (x *fn) instructions(b *ir.Block) {
	for _, v := range b.Values {
		if v.Op != ir.OpPhi && x.kept(v) {
			if v.Op != ir.OpCheck && v.Effects() != 0 {
				x.flush()
			}
			x.value(v)
		}
	}
	x.flush()
}

// layout returns the blocks in reverse postorder, with the cold blocks last.
func layout(f *ir.Func) []*ir.Block {
	var hot, cold []*ir.Block
	for _, b := range f.ReversePostorder() {
		if b.Cold && b != f.Blocks[0] {
			cold = append(cold, b)
		} else {
			hot = append(hot, b)
		}
	}
	return append(hot, cold...)
}

// splitEdges splits the critical edges: it inserts a block on each edge from a block with several
// successors to a block with phis. The copies for the phis go into that block.
func splitEdges(f *ir.Func) {
	for _, b := range f.Blocks[:len(f.Blocks):len(f.Blocks)] {
		if len(b.Term.Succs) < 2 {
			continue
		}
		for i, s := range b.Term.Succs {
			if len(s.Values) == 0 || s.Values[0].Op != ir.OpPhi {
				continue
			}
			mid := f.NewBlock()
			mid.Cold = b.Cold || s.Cold
			mid.Term = ir.Term{Kind: ir.TermJump, Succs: []*ir.Block{s}, Pos: b.Term.Pos}
			mid.Preds = []*ir.Block{b}
			b.Term.Succs[i] = mid
			for k, p := range s.Preds {
				// If both successors are the same block, that block lists b twice in Preds. The
				// order of Preds matches the order of the successors.
				if p == b {
					s.Preds[k] = mid
					break
				}
			}
		}
	}
}

// skip removes the blocks without code.
func (x *fn) skip(order []*ir.Block) []*ir.Block {
	x.skipped = make([]*ir.Block, x.f.NumBlocks())
	return slices.DeleteFunc(order, func(b *ir.Block) bool {
		if b == order[0] || !x.empty(b) || len(x.moves(b, b.Term.Succs[0])) > 0 {
			return false
		}
		to := x.to(b.Term.Succs[0])
		if to == b {
			return false // an empty loop
		}
		x.skipped[b.ID] = to
		return true
	})
}

// to returns b, or the first block with code that follows it.
func (x *fn) to(b *ir.Block) *ir.Block {
	for x.skipped[b.ID] != nil {
		b = x.skipped[b.ID]
	}
	return b
}

// name creates labels for the blocks that are targets of branches.
func (x *fn) name(order []*ir.Block) {
	for i, b := range order {
		e := x.end(b, following(order, i))
		for _, to := range []*ir.Block{e.when, e.otherwise} {
			if to != nil && x.labels[to.ID] == (build.Label{}) {
				x.labels[to.ID] = x.b.NewLabel("b" + fmt.Sprint(to.ID))
			}
		}
	}
}

// following returns the block after block i, or nil.
func following(order []*ir.Block, i int) *ir.Block {
	if i+1 < len(order) {
		return order[i+1]
	}
	return nil
}

// end describes the branches at the end of a block: one to the block when, if the condition is true or
// with not false, and then one to the block otherwise. Without a branch, the block is nil.
type end struct {
	cond            *ir.Value
	not             bool
	when, otherwise *ir.Block
}

func (x *fn) end(b, next *ir.Block) (e end) {
	switch t := b.Term; t.Kind {
	case ir.TermJump:
		e.otherwise = x.to(t.Succs[0])
	case ir.TermIf:
		e.when, e.otherwise = x.to(t.Succs[0]), x.to(t.Succs[1])
		e.cond, e.not = strip(t.Cond)
		if e.cond.Op == ir.OpConst {
			if (e.cond.Aux != 0) != e.not {
				e.otherwise = e.when
			}
			e.when = nil
		}
		if e.when == e.otherwise {
			e.when = nil
		}
		if g := x.guarded[b.ID]; g != nil {
			e.when, e.otherwise = nil, x.to(g.Term.Succs[0])
		}
		if e.when != nil && e.when == next {
			e.when, e.otherwise, e.not = e.otherwise, e.when, !e.not
		}
	}
	if e.otherwise == next {
		e.otherwise = nil
	}
	return e
}

// term emits the copies for phis and the terminator of block b.
func (x *fn) term(b, next *ir.Block) {
	t := b.Term
	x.loc(t.Pos)
	switch t.Kind {
	case ir.TermJump:
		x.parallel(x.moves(b, t.Succs[0]))
	case ir.TermRet:
		x.ret(t.Results)
	case ir.TermExit:
		x.op("exit")
	}
	if e := x.ahead[b.ID]; e != nil {
		x.parallel(x.moves(e, e.Term.Succs[0]))
	}
	if g := x.guarded[b.ID]; g != nil {
		x.emitGuarded(b, g)
	}
	e := x.end(b, next)
	if e.when != nil {
		if p := x.reg(e.cond); e.not {
			x.b.Unless(p).Bra(x.labels[e.when.ID])
		} else {
			x.b.When(p).Bra(x.labels[e.when.ID])
		}
	}
	if e.otherwise != nil {
		x.b.Bra(x.labels[e.otherwise.ID])
	}
}

// strip removes negations and copies from a condition. It returns the remaining value and whether
// it is negated.
func strip(v *ir.Value) (base *ir.Value, not bool) {
	for {
		switch v.Op {
		case ir.OpNot:
			not = !not
		case ir.OpCopy, ir.OpPin:
		default:
			return v, not
		}
		v = v.Args[0]
	}
}

// moves returns the moves into the phis of the block to, for its edge from b. They are semantically
// parallel.
func (x *fn) moves(b, to *ir.Block) (list []move) {
	i := slices.Index(to.Preds, b)
	for _, v := range to.Values {
		if v.Op != ir.OpPhi {
			break
		}
		if !x.need[v.ID] {
			continue
		}
		if dst, src := x.shared(v), x.shared(v.Args[i]); dst != src && src.Op != ir.OpUndef {
			list = append(list, move{dst, src})
		}
	}
	return list
}

type move struct{ dst, src *ir.Value }

// parallel orders the moves so that no move overwrites a register that a later one reads. It breaks
// cycles with a temporary register.
func (x *fn) parallel(moves []move) {
	reads := make(map[*ir.Value]int, len(moves)) // the number of remaining moves that read the value
	for _, m := range moves {
		reads[m.src]++
	}
	saved := map[*ir.Value]build.Reg{}
	source := func(v *ir.Value) build.Operand {
		if r, ok := saved[v]; ok {
			return r
		}
		if v.Op == ir.OpConst && v.Type == ir.TBool {
			return immediate(v)
		}
		return x.operand(v)
	}
	for len(moves) > 0 {
		var rest []move
		for _, m := range moves {
			if reads[m.dst] > 0 {
				rest = append(rest, m)
				continue
			}
			x.move(x.reg(m.dst), m.src.Type.Kind, source(m.src))
			reads[m.src]--
		}
		if len(rest) == len(moves) {
			d := rest[0].dst
			tmp := x.temp(d.Type.Kind)
			x.move(tmp, d.Type.Kind, x.reg(d))
			saved[d], reads[d] = tmp, 0
		}
		moves = rest
	}
}

var movTypes = map[ir.Kind]string{
	ir.Bool: "pred", ir.I32: "b32", ir.I64: "b64", ir.Ptr: "b64", ir.F16: "b16", ir.BF16: "b16", ir.F32: "f32", ir.F64: "f64",
}

func (x *fn) move(dst build.Reg, k ir.Kind, src build.Operand) { x.op("mov."+movTypes[k], dst, src) }

func (x *fn) temp(k ir.Kind) build.Reg { return x.b.Reg(regTypes[k]) }

// resolve follows copies to the original value. It treats OpPin as a copy because each PTX
// instruction rounds its result anyway.
func resolve(v *ir.Value) *ir.Value {
	for v.Op == ir.OpCopy || v.Op == ir.OpPin {
		v = v.Args[0]
	}
	return v
}

// part is one of several results of an instruction.
type part struct {
	of *ir.Value
	i  int64
}

// held returns the value whose register holds v. A conversion that keeps all bits has the register of its
// operand, if both have registers of the same type.
func (x *fn) held(v *ir.Value) *ir.Value {
	for v = resolve(v); keepsBits(v); {
		a := resolve(v.Args[0])
		if a.Op == ir.OpConst || a.Op == ir.OpUndef || regTypes[a.Type.Kind] != regTypes[v.Type.Kind] {
			return v
		}
		v = a
	}
	if v.Op != ir.OpExtract {
		return v
	}
	p := part{resolve(v.Args[0]), v.Aux}
	if x.parts[p] == nil {
		x.parts[p] = v
	}
	return x.parts[p]
}

// keepsBits reports whether v is a conversion that keeps all bits of its operand. PTX defines generic addresses
// as windows for the other state spaces, outside of which a generic address is the one in global memory.
func keepsBits(v *ir.Value) bool {
	switch v.Op {
	case ir.OpBitcast:
		return true
	case ir.OpSpaceCast:
		return v.Type.Space == ir.Global || v.Args[0].Type.Space == ir.Global
	}
	return false
}

// reg returns the register of a value. For a constant, it loads the constant into a new register.
func (x *fn) reg(v *ir.Value) build.Reg {
	v = x.held(v)
	switch v.Op {
	case ir.OpConst, ir.OpUndef:
		r := x.temp(v.Type.Kind)
		x.move(r, v.Type.Kind, immediate(v))
		return r
	case ir.OpExtract:
		return x.tuple(resolve(v.Args[0]))[v.Aux]
	}
	return x.own(v)
}

// own returns the register of a value that is not a constant. Values that share it have the same.
func (x *fn) own(v *ir.Value) build.Reg {
	r := &x.regs[v.ID]
	if v.ID < len(x.groups) && x.groups[v.ID] != nil {
		r = &x.groups[v.ID].reg
	}
	if !r.IsValid() {
		*r = x.temp(v.Type.Kind)
	}
	return *r
}

// tuple returns the registers of an instruction with several results.
func (x *fn) tuple(v *ir.Value) []build.Reg {
	regs := x.tuples[v]
	if regs == nil {
		for i, t := range v.Tuple {
			if e := x.parts[part{v, int64(i)}]; e != nil {
				regs = append(regs, x.own(e))
			} else {
				regs = append(regs, x.temp(t.Kind))
			}
		}
		x.tuples[v] = regs
	}
	return regs
}

// operand returns v as a source operand: an immediate if v is a constant whose type has PTX
// immediates, otherwise a register.
func (x *fn) operand(v *ir.Value) build.Operand {
	v = x.held(v)
	if (v.Op == ir.OpConst || v.Op == ir.OpUndef) && v.Type.Kind.Bits() >= 32 {
		return immediate(v)
	}
	return x.reg(v)
}

// immediate returns a constant as an immediate operand. An undefined value becomes 0 so that the
// output is deterministic.
func immediate(v *ir.Value) build.Operand {
	switch v.Type.Kind {
	case ir.F32:
		return build.F32Bits(uint32(v.Aux))
	case ir.F64:
		return build.F64Bits(uint64(v.Aux))
	case ir.I32:
		return build.Int(int64(int32(v.Aux)))
	case ir.F16, ir.BF16:
		return build.Int(int64(uint16(v.Aux)))
	}
	return build.Int(v.Aux)
}
