package emit

import (
	"math"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// kept reports whether the instruction is emitted, either for its side effects or because its
// result is needed in a register.
func (x *fn) kept(v *ir.Value) bool {
	return x.need[v.ID] || v.Effects()&(ir.Writes|ir.Faults|ir.Fences|ir.Convergent|ir.Varies) != 0 || v.Op == ir.OpFence
}

// findNeeds finds the values that must be in registers. Address arithmetic that is folded into the
// addressing mode of a load or store does not need a register.
func (x *fn) findNeeds(order []*ir.Block) {
	x.need = make([]bool, x.f.NumValues())
	x.countUses(order)
	var work []*ir.Value
	mark := func(v *ir.Value) {
		if v = x.held(v); v.Op != ir.OpConst && v.Op != ir.OpUndef && !x.need[v.ID] {
			x.need[v.ID] = true
			work = append(work, v)
		}
	}
	for _, b := range order {
		for _, v := range b.Values {
			if x.kept(v) && !x.need[v.ID] {
				x.reads(v, mark)
			}
		}
		if b.Term.Kind == ir.TermIf && b.Term.Succs[0] != b.Term.Succs[1] {
			c, _ := strip(b.Term.Cond)
			mark(c)
		}
		for _, r := range b.Term.Results {
			mark(r)
		}
		for len(work) > 0 {
			v := work[len(work)-1]
			work = work[:len(work)-1]
			x.reads(v, mark)
		}
	}
}

// reads calls mark for each value that the instruction reads from a register.
func (x *fn) reads(v *ir.Value, mark func(*ir.Value)) {
	args := v.Args
	if f, ok := x.fold(v); ok {
		args = f.args
	}
	switch v.Op {
	case ir.OpLoad, ir.OpStore, ir.OpLoadV, ir.OpStoreV, ir.OpAtomic, ir.OpCAS:
		base, _ := x.address(v)
		if base.Op != ir.OpGlobal && base.Op != ir.OpSlot || x.hidden[base.Var] {
			mark(base)
		}
		args = args[1:]
		if v.Op == ir.OpLoadV && len(args) > 0 || v.Op == ir.OpStoreV && len(args) > v.N {
			c, _ := strip(args[len(args)-1]) // the condition for the alignment
			mark(c)
			args = args[:len(args)-1]
		}
	case ir.OpSelect:
		c, _ := strip(args[0])
		mark(c)
		args = args[1:]
	case ir.OpCheck:
		c, _ := strip(args[0])
		mark(c)
		args = x.fieldsOf(v)
	}
	for _, a := range args {
		mark(a)
	}
}

// address splits the address of a memory access into a base value and a constant offset.
func (x *fn) address(v *ir.Value) (base *ir.Value, offset int64) {
	base, offset = x.held(v.Args[0]), v.Aux
	for base.Op == ir.OpPtrAdd {
		c := resolve(base.Args[1])
		if c.Op != ir.OpConst || !fits(c.Aux) || !fits(offset+c.Aux) {
			break
		}
		offset += c.Aux
		base = x.held(base.Args[0])
	}
	return base, offset
}

func fits(offset int64) bool { return offset >= math.MinInt32 && offset <= math.MaxInt32 }

// memory returns the address operand of a load, a store or an atomic operation.
func (x *fn) memory(v *ir.Value) build.Operand { return x.memoryAt(v, 0) }

// memoryAt returns the address operand of element i of a vector.
func (x *fn) memoryAt(v *ir.Value, i int) build.Operand {
	base, offset := x.address(v)
	offset += int64(i * v.Mem.Size())
	switch {
	case base.Op == ir.OpGlobal && x.m.vars[base.Var] != nil && !x.hidden[base.Var]:
		return x.m.vars[base.Var].At(offset)
	case base.Op == ir.OpSlot:
		return x.slots[base.Aux].At(offset)
	case !fits(offset):
		r := x.temp(ir.I64)
		x.op("add.s64", r, x.reg(base), build.Int(offset))
		return r.At(0)
	}
	return x.reg(base).At(offset)
}
