package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// maxAgain limits the instructions that the failure path of a loop's check computes again.
const maxAgain = 80

// outside returns copies of the checks of a block in a loop, in which the failure path computes again
// what was computed before the loop. Otherwise, these values would occupy registers in the loop only
// for the failure path.
//
// The copies begin with parameters and special registers, added to a 0 that ptxas does not know, because ptxas
// would otherwise find that the values are there already.
func (x *fn) outside(checks []*ir.Value) []*ir.Value {
	l := x.loops.Of[checks[0].Block.ID]
	if l == nil {
		return checks
	}
	for l.Parent != nil {
		l = l.Parent
	}
	a := &again{fn: x, loop: l, copies: map[*ir.Value]*ir.Value{}}
	out := make([]*ir.Value, len(checks))
	for i, v := range checks {
		c := *v
		c.Args = make([]*ir.Value, len(v.Args))
		for k, arg := range v.Args {
			if k > 0 {
				arg = x.fieldOf(v, k)
			}
			if c.Args[k] = arg; resolve(arg).Op != ir.OpParam { // ptxas reads parameters from memory anyway
				c.Args[k] = a.value(arg)
			}
		}
		out[i] = &c
	}
	return out
}

type again struct {
	*fn
	loop   *ir.Loop
	copies map[*ir.Value]*ir.Value
	zero   build.Reg
	zero32 build.Reg
	n      int
}

// value returns v, or a copy of v that is computed now.
func (a *again) value(v *ir.Value) *ir.Value {
	v = resolve(v)
	if c := a.copies[v]; c != nil {
		return c
	}
	if v.Block == nil || a.loops.Contains(a.loop, v.Block) || a.n >= maxAgain || !a.depends(v, 20) {
		return v
	}
	var c *ir.Value
	switch {
	case root(v):
		again := a.copy(v, nil)
		a.fn.value(again)
		c = a.copy(v, nil)
		a.plusZero(c, again)
	case repeatable(v):
		args := make([]*ir.Value, len(v.Args))
		for i, arg := range v.Args {
			args[i] = a.value(arg)
		}
		c = a.copy(v, args)
		a.fn.value(c)
	default:
		c = v
	}
	a.copies[v] = c
	return c
}

// root reports whether v is a parameter or a special register, to which the copies add 0.
func root(v *ir.Value) bool {
	return (v.Op == ir.OpParam || v.Op == ir.OpSpecial && v.Effects() == 0) && v.Type.Kind.IsInt()
}

// depends reports whether v is an integer or condition that is computed from a root, so that its copy
// differs from v.
func (a *again) depends(v *ir.Value, depth int) bool {
	v = resolve(v)
	switch {
	case v.Block == nil || depth == 0 || a.loops.Contains(a.loop, v.Block):
		return false
	case root(v):
		return true
	case !repeatable(v):
		return false
	}
	for _, arg := range v.Args {
		if a.depends(arg, depth-1) {
			return true
		}
	}
	return false
}

// repeatable reports whether an instruction is so cheap that it can be computed again.
func repeatable(v *ir.Value) bool {
	switch v.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpShl, ir.OpLShr, ir.OpAShr, ir.OpSMin, ir.OpSMax, ir.OpUMin, ir.OpUMax,
		ir.OpMulWideS, ir.OpMulWideU, ir.OpSExt32, ir.OpZExt32, ir.OpTrunc, ir.OpNot:
		return true
	case ir.OpICmp:
		return v.Args[0].Type.Kind.IsInt()
	}
	return false
}

func (a *again) copy(v *ir.Value, args []*ir.Value) *ir.Value {
	c := a.f.NewValue(v.Op, v.Type, args...)
	c.Aux, c.Sym, c.Pos, c.Mem = v.Aux, v.Sym, v.Pos, v.Mem
	if a.products[v] {
		a.products[c] = true
	}
	a.n++
	a.regs = append(a.regs, make([]build.Reg, a.f.NumValues()-len(a.regs))...)
	a.need = append(a.need, make([]bool, a.f.NumValues()-len(a.need))...)
	return c
}

// plusZero computes c as v plus a hidden 0: the lower bits of the address of the fault slot.
func (a *again) plusZero(c, v *ir.Value) {
	if !a.zero.IsValid() {
		a.zero = a.temp(ir.I64)
		a.op("ld.global.u64", a.zero, a.m.faultVar().At(0))
		a.op("and.b64", a.zero, a.zero, build.Int(7))
	}
	if v.Type.Kind == ir.I64 {
		a.op("add.s64", a.reg(c), a.reg(v), a.zero)
		return
	}
	if !a.zero32.IsValid() {
		a.zero32 = a.temp(ir.I32)
		a.op("cvt.u32.u64", a.zero32, a.zero)
	}
	a.op("add.s32", a.reg(c), a.reg(v), a.zero32)
}
