package emit

import (
	"strings"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// hideVars finds the shared variables whose addresses ptxas must not know to be equal in all threads.
//
// Ptxas 13.0 keeps such an address in a register that the threads of a warp share. If a loop has an atomic operation or a
// volatile access, and there is a call after it, the threads that leave the loop do not wait there for the others. They
// can overwrite the register, and the others then use a wrong address. In random kernel k51500184 they did. A 64-bit
// division is a call, too.
//
// Other values that ptxas keeps in such registers, such as lengths of slices, are in the same danger. They are not
// hidden, because no kernel has shown it, and hiding each value would cost instructions in loops. For the same reason,
// loops around a loop with an atomic operation are ignored.
func (x *fn) hideVars() {
	yields := map[*ir.Loop]bool{}
	calls := false
	var accesses []*ir.Value
	for _, b := range x.f.Blocks {
		for _, v := range b.Values {
			calls = calls || isCall(v)
			switch v.Op {
			case ir.OpLoad, ir.OpLoadV, ir.OpStore, ir.OpStoreV:
				accesses = append(accesses, v)
				if v.Hint != ir.HintVolatile {
					continue
				}
			case ir.OpAtomic, ir.OpCAS:
				accesses = append(accesses, v)
			default:
				continue
			}
			if l := x.loops.Of[b.ID]; l != nil {
				yields[l] = true
			}
		}
	}
	x.hidden = map[*ir.Var]bool{}
	if !calls || len(yields) == 0 {
		return
	}
	for _, v := range accesses {
		if x.yieldsAt(v.Block, yields) {
			x.hideVarsOf(v.Args[0], map[*ir.Value]bool{})
		}
	}
}

func (x *fn) yieldsAt(b *ir.Block, yields map[*ir.Loop]bool) bool {
	for l := x.loops.Of[b.ID]; l != nil; l = l.Parent {
		if yields[l] {
			return true
		}
	}
	return false
}

// hideVarsOf hides the shared variables that an address can belong to.
func (x *fn) hideVarsOf(p *ir.Value, seen map[*ir.Value]bool) {
	p = resolve(p)
	if seen[p] {
		return
	}
	seen[p] = true
	switch p.Op {
	case ir.OpGlobal:
		if p.Var.Space == ir.Shared {
			x.hidden[p.Var] = true
		}
	case ir.OpPtrAdd, ir.OpSpaceCast:
		x.hideVarsOf(p.Args[0], seen)
	case ir.OpSelect:
		x.hideVarsOf(p.Args[1], seen)
		x.hideVarsOf(p.Args[2], seen)
	case ir.OpPhi:
		for _, a := range p.Args {
			x.hideVarsOf(a, seen)
		}
	}
}

// isCall reports whether ptxas compiles v to a call of a function, be it one of its own.
func isCall(v *ir.Value) bool {
	switch v.Op {
	case ir.OpCall, ir.OpFDiv, ir.OpFSqrt:
		return true
	case ir.OpSDiv, ir.OpUDiv, ir.OpSRem, ir.OpURem:
		return v.Type.Kind == ir.I64
	case ir.OpAsm:
		return strings.Contains(v.Sym, "div.") || strings.Contains(v.Sym, "sqrt.") || strings.Contains(v.Sym, "rcp.") || strings.Contains(v.Sym, "rem.") || strings.Contains(v.Sym, "call")
	}
	return false
}

// hiddenAddress emits the address of a shared variable plus a 0 that ptxas does not know: each thread has one lane.
func (x *fn) hiddenAddress(v *ir.Value) {
	lanes, wide := x.temp(ir.I32), x.temp(ir.I64)
	x.op("mov.u64", x.reg(v), x.m.vars[v.Var])
	x.op("mov.u32", lanes, build.Special("%lanemask_eq"))
	x.op("popc.b32", lanes, lanes)
	x.op("add.s32", lanes, lanes, build.Int(-1))
	x.op("cvt.u64.u32", wide, lanes)
	x.op("add.s64", x.reg(v), x.reg(v), wide)
}
