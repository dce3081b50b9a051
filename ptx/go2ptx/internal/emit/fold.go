package emit

import (
	"slices"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// folded is an instruction that does the work of a value and of some of its operands, which then need no
// registers.
type folded struct {
	name string
	args []*ir.Value
}

// fold returns the instruction for v and operands of it, if there is one.
func (x *fn) fold(v *ir.Value) (f folded, ok bool) {
	switch v.Op {
	case ir.OpAdd, ir.OpPtrAdd:
		for i := len(v.Args) - 1; i >= 0; i-- {
			if f, ok := x.multiplyAdd(v, x.held(v.Args[i]), x.held(v.Args[1-i])); ok {
				return f, true
			}
		}
	case ir.OpSelect:
		if a, change := x.changed(v); a != nil {
			return folded{conditional, append([]*ir.Value{v.Args[0]}, change.Args...)}, true
		}
	}
	return x.foldHalves(v)
}

// conditional is the name of a folded instruction that is not one of PTX: an instruction that changes a number if a
// condition holds.
const conditional = "conditional"

// changed returns the instruction that the selection v selects if its condition is true or false, and otherwise the
// first operand of that instruction, or nil. Nothing else uses the two.
func (x *fn) changed(v *ir.Value) (a, change *ir.Value) {
	a, change = x.held(v.Args[1]), x.held(v.Args[2])
	if !x.changes(v, change, a) {
		a, change = change, a
		if !x.changes(v, change, a) {
			return nil, nil
		}
	}
	switch a.Op {
	case ir.OpConst, ir.OpUndef, ir.OpPhi, ir.OpExtract, ir.OpNot:
		return nil, nil
	}
	return a, change
}

func (x *fn) changes(v, change, a *ir.Value) bool {
	if v.Type == ir.TBool || !x.once(change, v) || x.uses[a.ID] != 2 || a.Block != v.Block {
		return false
	}
	switch change.Op {
	case ir.OpNot:
	case ir.OpAdd, ir.OpOr, ir.OpXor:
		if x.held(change.Args[1]) == a {
			change.Args[0], change.Args[1] = change.Args[1], change.Args[0]
		}
		if _, ok := x.fold(change); ok {
			return false
		}
	case ir.OpSub, ir.OpAnd:
		if _, ok := x.fold(change); ok {
			return false
		}
	default:
		return false
	}
	return x.held(change.Args[0]) == a
}

// emitChange emits an instruction with a predicate whose result is in the register of its operand, if the operand and
// the selection do not share registers with phis.
func (x *fn) emitChange(v *ir.Value) {
	a, change := x.changed(v)
	if x.groups[v.ID] == nil && x.groups[a.ID] == nil && !x.regs[v.ID].IsValid() {
		x.regs[v.ID] = x.own(a)
	}
	r, from := x.reg(v), x.reg(a)
	if r != from {
		x.move(r, v.Type.Kind, from)
	}
	cond, not := strip(v.Args[0])
	with := x.b.When(x.reg(cond))
	if (x.held(v.Args[1]) == a) != not {
		with = x.b.Unless(x.reg(cond))
	}
	if change.Op == ir.OpNot {
		with.Op("not."+bitTypes[v.Type.Kind], r, from)
		return
	}
	b := binaries[change.Op]
	with.Op(b.name+b.types[v.Type.Kind], r, from, x.operand(change.Args[1]))
}

// multiplyAdd returns the instruction for the sum v of a product and of another number, if only v uses the product.
// An extension to 64 bits is a product with 1.
func (x *fn) multiplyAdd(v, product, plus *ir.Value) (f folded, ok bool) {
	if !x.once(product, v) {
		return f, false
	}
	name := "mad.lo." + signedTypes[v.Type.Kind]
	switch factor := product.Args; product.Op {
	case ir.OpMul:
		// Ptxas multiplies out (a*b + c)*d, and moves what does not change out of a loop.
		if u := x.user[v.ID]; v.Type.Kind != ir.I32 && x.loops.Of[v.Block.ID] != nil && u != nil && (u.Op == ir.OpShl || u.Op == ir.OpMul) {
			return f, false
		}
		return folded{name, []*ir.Value{x.held(factor[0]), x.held(factor[1]), plus}}, true
	case ir.OpShl:
		if n := x.held(factor[1]); v.Type.Kind == ir.I32 && n.Op == ir.OpConst && uint64(n.Aux) < 31 {
			return folded{name, []*ir.Value{x.held(factor[0]), x.f.Const(ir.TI32, 1<<n.Aux), plus}}, true
		}
	case ir.OpZExt32:
		return folded{"mad.wide.u32", []*ir.Value{x.held(factor[0]), x.f.Const(ir.TI32, 1), plus}}, true
	case ir.OpMulWideS, ir.OpMulWideU:
		if x.ownIndex(v, x.held(factor[0])) {
			return folded{wideSums[product.Op], []*ir.Value{x.held(factor[0]), x.held(factor[1]), plus}}, true
		}
	}
	return f, false
}

var wideSums = map[ir.Op]string{ir.OpMulWideS: "mad.wide.s32", ir.OpMulWideU: "mad.wide.u32"}

// ownIndex reports whether an address is in shared memory and has an index that no other product has. Its product and
// sum are then one instruction. Ptxas finds common parts of other addresses only in sums and products, and compiles
// mad.wide to more instructions for global memory and for an index with a mask.
func (x *fn) ownIndex(address, index *ir.Value) bool {
	return address.Type.Space == ir.Shared && address.Op == ir.OpPtrAdd && x.indices[index] == 1 && index.Op != ir.OpAnd
}

// once reports whether v is only used by the instruction by, and is in the same block.
func (x *fn) once(v, by *ir.Value) bool {
	return v.ID < len(x.uses) && x.uses[v.ID] == 1 && v.Block == by.Block
}

// emitFolded emits the instruction f for v.
func (x *fn) emitFolded(v *ir.Value, f folded) {
	switch f.name {
	case joined, joined16:
		x.op("mov."+bitTypes[v.Type.Kind], x.reg(v), build.Vec(x.reg(f.args[0]), x.reg(f.args[1])))
		return
	case joined8:
		x.emitJoined8(v, f.args)
		return
	case bits16:
		x.bf16Bits(x.reg(v), x.reg(f.args[0]), x.held(v.Args[0]).Round)
		return
	case conditional:
		x.emitChange(v)
		return
	case upper, upper16:
		x.split(v, x.temp(v.Type.Kind), x.reg(v), f.args[0])
		return
	}
	x.op(f.name, x.reg(v), x.reg(f.args[0]), x.operand(f.args[1]), x.operand(f.args[2]))
}

// countUses counts how often each value is used, and finds an instruction that uses it, the shifts that are products,
// and the indices of addresses.
func (x *fn) countUses(order []*ir.Block) {
	x.indices = map[*ir.Value]int{}
	x.uses, x.user, x.products = make([]int, x.f.NumValues()), make([]*ir.Value, x.f.NumValues()), map[*ir.Value]bool{}
	for _, b := range order {
		for _, v := range b.Values {
			if v.Op == ir.OpMulWideS || v.Op == ir.OpMulWideU {
				x.indices[x.held(v.Args[0])]++
			}
			if shift := x.rotated(v); shift != nil {
				x.products[shift] = true
			}
			for _, a := range v.Args {
				x.uses[x.held(a).ID]++
				x.user[x.held(a).ID] = v
			}
		}
		if b.Term.Cond != nil {
			x.uses[x.held(b.Term.Cond).ID]++
		}
		for _, r := range b.Term.Results {
			x.uses[x.held(r).ID]++
		}
	}
}

// complement lets two opposite comparisons of a block share one instruction. Branches and selections can
// use the negation of a predicate, so the comparison that others use stays.
func (x *fn) complement(order []*ir.Block) {
	type comparison struct {
		a, b *ir.Value
		c    int64   // instead of b, if that is a constant
		kind ir.Cond // the first of the two conditions
	}
	plain := x.plainUses(order)
	negations := map[*ir.Value]*ir.Value{}
	for _, b := range order {
		seen := map[comparison]*ir.Value{}
		for i := 0; i < len(b.Values); i++ {
			v := b.Values[i]
			if v.Op != ir.OpICmp || v.Args[0].Type == ir.TBool {
				continue
			}
			c := comparison{a: resolve(v.Args[0]), b: resolve(v.Args[1]), kind: min(ir.Cond(v.Aux), ir.Inverse[v.Aux])}
			if c.b.Op == ir.OpConst {
				c.b, c.c = nil, c.b.Aux
			}
			w := seen[c]
			switch {
			case w == nil:
				seen[c] = v
			case w.Aux == v.Aux || negations[w] != nil:
			case c.kind > ir.Ne && c.a.Type != ir.TI32 && plain[v] && plain[w]: // Stencil3D would need 18 registers more
			case !plain[v] || plain[w]:
				v.Op, v.Aux, v.Args = ir.OpNot, 0, []*ir.Value{w}
			default:
				w.Aux = v.Aux
				v.Op, v.Aux, v.Args = ir.OpCopy, 0, []*ir.Value{w}
				n := x.f.NewValue(ir.OpNot, ir.TBool, w)
				n.Block = b
				b.Values = slices.Insert(b.Values, slices.Index(b.Values, w)+1, n)
				negations[w] = n
				i++
			}
		}
	}
	if len(negations) == 0 {
		return
	}
	for _, b := range order {
		for _, v := range b.Values {
			if v.Op == ir.OpCopy || negations[resolve(v)] != nil {
				continue
			}
			for i, a := range v.Args {
				if n := negations[a]; n != nil && n != v {
					v.Args[i] = n
				}
			}
		}
		if n := negations[b.Term.Cond]; n != nil {
			b.Term.Cond = n
		}
	}
}

// plainUses returns the values that an instruction uses as they are, so that their negation would need an
// instruction.
func (x *fn) plainUses(order []*ir.Block) map[*ir.Value]bool {
	plain := map[*ir.Value]bool{}
	for _, b := range order {
		for _, v := range b.Values {
			for i, a := range v.Args {
				if a.Type == ir.TBool && (v.Op != ir.OpSelect || i > 0) && v.Op != ir.OpCheck {
					plain[resolve(a)] = true
				}
			}
		}
		for _, r := range b.Term.Results {
			plain[resolve(r)] = true
		}
	}
	return plain
}
