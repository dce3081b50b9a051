package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

var scopeNames = [...]string{"gpu", "cta", "cluster", "sys"}
var orderNames = [...]string{"relaxed", "acquire", "release", "acq_rel", "acq_rel"}

// ordered reports whether the target has atomic instructions with a memory order (sm_70 and later).
func (x *fn) ordered() bool { return x.m.arch >= 70 }

// fence emits a fence. Targets before sm_70 have only membar, which is at least as strong.
func (x *fn) fence(o ir.Order, s ir.Scope) {
	if o == ir.Relaxed {
		return
	}
	if !x.ordered() && s != ir.ScopeCluster {
		x.op([...]string{ir.ScopeDevice: "membar.gl", ir.ScopeBlock: "membar.cta", ir.ScopeSystem: "membar.sys"}[s])
		return
	}
	kind := "acq_rel"
	if o == ir.SeqCst {
		kind = "sc"
	}
	x.op("fence." + kind + "." + scopeNames[s])
}

// before emits the fence that the memory order requires before the operation. Its counterpart,
// after, emits the one required after it.
func (x *fn) before(a ir.Atomic) {
	switch {
	case a.Order == ir.SeqCst, !x.ordered() && (a.Order == ir.Release || a.Order == ir.AcqRel):
		x.fence(a.Order, a.Scope)
	}
}

func (x *fn) after(a ir.Atomic) {
	if !x.ordered() && (a.Order == ir.Acquire || a.Order == ir.AcqRel || a.Order == ir.SeqCst) {
		x.fence(a.Order, a.Scope)
	}
}

// qualifiers returns the memory order and scope suffixes of an atomic instruction, as far as the
// target supports them. A load cannot have release semantics and a store cannot have acquire
// semantics.
func (x *fn) qualifiers(v *ir.Value) string {
	a := v.Atomic
	if x.ordered() {
		order := orderNames[a.Order]
		switch {
		case a.Op == ir.RMWLoad && a.Order != ir.Relaxed && v.Op == ir.OpAtomic:
			order = "acquire"
		case a.Op == ir.RMWStore && a.Order != ir.Relaxed && v.Op == ir.OpAtomic:
			order = "release"
		}
		return "." + order + "." + scopeNames[a.Scope]
	}
	switch a.Scope {
	case ir.ScopeSystem:
		return ".sys"
	case ir.ScopeCluster:
		return ".cluster"
	}
	return "" // device scope, which covers block scope as well
}

var rmwNames = [...]string{"add", "min", "max", "min", "max", "and", "or", "xor", "exch", "inc", "dec"}

// rmwType returns the type suffix of an atomic read-modify-write operation, including the rounding
// modifier.
func rmwType(op ir.RMW, m ir.Mem) string {
	k := m.Type().Kind
	switch op {
	case ir.RMWAdd:
		switch k {
		case ir.F16:
			return "noftz.f16"
		case ir.BF16:
			return "noftz.bf16"
		case ir.F32, ir.F64:
			return floatTypes[k]
		}
		return unsignedTypes[k]
	case ir.RMWSMin, ir.RMWSMax:
		return signedTypes[k]
	case ir.RMWUMin, ir.RMWUMax, ir.RMWInc, ir.RMWDec:
		return unsignedTypes[k]
	}
	return bitsOf(m)
}

func bitsOf(m ir.Mem) string { return [...]string{1: "b8", 2: "b16", 4: "b32", 8: "b64"}[m.Size()] }

func (x *fn) atomic(v *ir.Value) {
	switch v.Atomic.Op {
	case ir.RMWLoad:
		x.atomicLoad(v)
		return
	case ir.RMWStore:
		x.atomicStore(v)
		return
	}
	if !x.atomicSpace(v) {
		return
	}
	x.before(v.Atomic)
	name := "atom" + x.qualifiers(v) + spaceNames[space(v)] + "." + rmwNames[v.Atomic.Op] + "." + rmwType(v.Atomic.Op, v.Mem)
	x.op(name, x.reg(v), x.memory(v), x.operand(v.Args[1]))
	x.after(v.Atomic)
}

func (x *fn) cas(v *ir.Value) {
	if !x.atomicSpace(v) {
		return
	}
	x.before(v.Atomic)
	name := "atom" + x.qualifiers(v) + spaceNames[space(v)] + ".cas." + bitsOf(v.Mem)
	if v.Mem.Size() == 2 {
		x.cas16(name, v)
	} else {
		x.op(name, x.reg(v), x.memory(v), x.operand(v.Args[1]), x.operand(v.Args[2]))
	}
	x.after(v.Atomic)
}

// cas16 emits a 16-bit compare-and-swap. It converts the operands because the compiler keeps 16-bit
// integers extended to 32 bits, and atom.cas.b16 takes 16-bit registers.
func (x *fn) cas16(name string, v *ir.Value) {
	old, next, r := x.temp(ir.F16), x.temp(ir.F16), x.temp(ir.F16)
	x.op("cvt.u16.u32", old, x.reg(v.Args[1]))
	x.op("cvt.u16.u32", next, x.reg(v.Args[2]))
	x.op(name, r, x.memory(v), old, next)
	if v.Mem == ir.MS16 {
		x.op("cvt.s32.s16", x.reg(v), r)
	} else {
		x.op("cvt.u32.u16", x.reg(v), r)
	}
}

func (x *fn) atomicSpace(v *ir.Value) bool {
	s := space(v)
	if s == ir.Local || s == ir.Const {
		x.fail("an atomic operation on %s memory", s)
		return false
	}
	return true
}

// atomicLoad emits an atomic load. Before sm_70, a volatile load serves as a relaxed one.
func (x *fn) atomicLoad(v *ir.Value) {
	name := "ld.volatile"
	if x.before(v.Atomic); x.ordered() {
		name = "ld" + x.qualifiers(v)
	}
	if space(v) == ir.Local || space(v) == ir.Const {
		name = "ld"
	}
	x.loadScalar(name+spaceNames[space(v)], x.reg(v), v.Mem, x.memory(v))
	x.after(v.Atomic)
}

func (x *fn) atomicStore(v *ir.Value) {
	name := "st.volatile"
	a := v.Atomic
	if x.ordered() {
		name = "st" + x.qualifiers(v)
	}
	if x.before(a); space(v) == ir.Local {
		name = "st"
	} else if !x.ordered() && a.Order == ir.SeqCst {
		defer x.fence(a.Order, a.Scope)
	}
	var src build.Operand = x.stored(v.Args[1])
	x.op(name+spaceNames[space(v)]+"."+memTypes[v.Mem], x.memory(v), src)
}
