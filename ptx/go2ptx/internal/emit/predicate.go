package emit

import (
	"slices"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Limits for the code that replaces branches. Threads that would have branched around it execute it as well, so
// it must cost less than the branch.
const (
	maxEarly   = 4 // copies for phis before a branch
	maxOther   = 8 // instructions on the other side of that branch
	maxGuarded = 1 // instructions with a predicate: with more, ptxas needs more registers, and one could overwrite the predicate of the next
	maxStores  = 2 // stores with a predicate, if nothing else has one: they write no register
	maxFree    = 3 // computations without a predicate, for the instruction with one
)

// early finds branches to a block that only has copies for phis. The copies precede the branch, if the other
// successor does not need what they overwrite, and is so short that the phis do not occupy registers for long. A
// value that is loaded only within a bound then has its default value before the branch:
//
//	mov.b32 r, 0; @!p bra done; ld r; done:
func (x *fn) early(order []*ir.Block, s *sharing) {
	x.ahead = make([]*ir.Block, x.f.NumBlocks())
	for _, b := range order {
		if b.Term.Kind != ir.TermIf {
			continue
		}
		for i, e := range b.Term.Succs {
			other := b.Term.Succs[1-i]
			if e == other || e == order[0] || len(e.Preds) != 1 || !x.empty(e) || x.skipped[e.ID] != nil {
				continue
			}
			to := e.Term.Succs[0]
			if to == e || other.Term.Kind != ir.TermJump || other.Term.Succs[0] != to || len(other.Values) > maxOther {
				continue
			}
			needed := func(m move) bool { return s.needs(other, m.dst) }
			if m := x.moves(e, to); len(m) <= maxEarly && !slices.ContainsFunc(m, needed) {
				x.ahead[b.ID], x.skipped[e.ID] = e, x.to(to)
				break
			}
		}
	}
}

// needs reports whether block b, or one that follows it, may read the register of a phi before it is written.
func (s *sharing) needs(b *ir.Block, phi *ir.Value) bool {
	if phi.Type == ir.TBool || !s.has(phi) {
		return true
	}
	for _, v := range s.x.group(phi).values {
		if n := s.numbers[v]; s.in[b.ID][n/64]>>(n%64)&1 != 0 {
			return true
		}
	}
	return false
}

// empty reports whether a block has no code besides copies for phis.
func (x *fn) empty(b *ir.Block) bool {
	code := func(v *ir.Value) bool { return v.Op != ir.OpPhi && v.Op != ir.OpExtract && x.kept(v) }
	return b.Term.Kind == ir.TermJump && !slices.ContainsFunc(b.Values, code)
}

// guard finds branches around a few instructions, which are executed with a predicate instead. It returns the
// order without the blocks of these instructions.
func (x *fn) guard(order []*ir.Block) []*ir.Block {
	x.guarded = make([]*ir.Block, x.f.NumBlocks())
	inside := map[*ir.Block]bool{}
	for _, b := range order {
		if b.Term.Kind != ir.TermIf || inside[b] || resolve(b.Term.Cond).Op == ir.OpConst {
			continue
		}
		for i, g := range b.Term.Succs {
			other := b.Term.Succs[1-i]
			if g == other || g == order[0] || len(g.Preds) != 1 || g.Term.Kind != ir.TermJump || x.skipped[g.ID] != nil ||
				g.Cold && !b.Cold || x.to(g.Term.Succs[0]) != x.to(other) || x.to(other) == g || x.guardCost(g) > maxGuarded {
				continue
			}
			x.guarded[b.ID], inside[g] = g, true
			break
		}
	}
	return slices.DeleteFunc(order, func(b *ir.Block) bool { return inside[b] })
}

// guardCost returns the number of instructions of a block that need a predicate, or more than maxGuarded if the block
// must have a branch.
func (x *fn) guardCost(b *ir.Block) int {
	const never = maxGuarded + 1
	n, free, stores := 0, 0, 0
	for _, v := range b.Values {
		if v.Op == ir.OpExtract || !x.kept(v) {
			continue
		}
		switch v.Op {
		case ir.OpLoad, ir.OpStore:
			if v.Mem == ir.MBool {
				return never
			}
			if n++; v.Op == ir.OpStore {
				stores++
			}
		case ir.OpLoadV, ir.OpStoreV:
			conditional := v.Op == ir.OpLoadV && len(v.Args) > 1 || v.Op == ir.OpStoreV && len(v.Args) > 1+v.N
			if v.Mem == ir.MBool || conditional {
				return never
			}
			if n++; words(v, v.Op == ir.OpLoadV) != 0 {
				n += v.N
			}
		case ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFMA:
			if v.Type != ir.TF32 {
				return never
			}
			n++
		default:
			if !speculative(v) {
				return never
			}
			if free++; x.groups[v.ID] != nil || free > maxFree || len(b.Values) == 1 {
				n++
			}
		}
	}
	if n += len(x.moves(b, b.Term.Succs[0])); n == stores && n <= maxStores {
		return min(n, maxGuarded)
	}
	return n
}

// speculative reports whether an instruction is one cheap instruction that may be executed without need.
func speculative(v *ir.Value) bool {
	switch v.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpShl, ir.OpLShr, ir.OpAShr, ir.OpSMin, ir.OpSMax, ir.OpUMin, ir.OpUMax,
		ir.OpMulWideS, ir.OpMulWideU, ir.OpSExt8, ir.OpSExt16, ir.OpZExt8, ir.OpZExt16, ir.OpSExt32, ir.OpZExt32, ir.OpTrunc, ir.OpNot,
		ir.OpBitcast, ir.OpPtrAdd, ir.OpSpaceCast:
		return v.Type != ir.TBool
	}
	return false
}

// emitGuarded emits the instructions of block g, which are executed if the condition of the branch before it
// leads there. Ptxas merges equal computations only if they have no predicate. Computations of addresses
// therefore have none, unless they write a register that other values share.
func (x *fn) emitGuarded(b, g *ir.Block) {
	cond, not := strip(b.Term.Cond)
	if b.Term.Succs[1] == g {
		not = !not
	}
	p := x.reg(cond)
	with := x.b.When(p)
	if not {
		with = x.b.Unless(p)
	}
	for _, v := range g.Values {
		if v.Op == ir.OpExtract || !x.kept(v) {
			continue
		}
		needs := !speculative(v) || x.groups[v.ID] != nil
		if needs {
			x.with = &with
		}
		x.value(v)
		x.with = nil
	}
	x.with = &with
	x.loc(g.Term.Pos)
	x.parallel(x.moves(g, g.Term.Succs[0]))
	x.with = nil
}

// op emits an instruction, with the predicate of the block if it has one.
func (x *fn) op(name string, args ...build.Operand) {
	if x.with != nil {
		x.with.Op(name, args...)
		return
	}
	x.b.Op(name, args...)
}
