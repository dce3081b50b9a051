package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// memTypes maps memory types to the type suffixes of loads and stores.
var memTypes = map[ir.Mem]string{
	ir.MBool: "u8", ir.MS8: "s8", ir.MU8: "u8", ir.MS16: "s16", ir.MU16: "u16", ir.M32: "b32", ir.M64: "b64",
	ir.MF16: "b16", ir.MBF16: "b16", ir.MF32: "f32", ir.MF64: "f64", ir.MPtr: "b64",
}

var spaceNames = [...]string{"", ".global", ".shared", ".local", ".const"}

func space(v *ir.Value) ir.Space { return resolve(v.Args[0]).Type.Space }

func (x *fn) access(v *ir.Value) {
	switch v.Op {
	case ir.OpSpaceCast:
		x.spaceCast(v)
	case ir.OpLoad, ir.OpLoadV:
		x.load(v)
	case ir.OpStore, ir.OpStoreV:
		x.store(v)
	case ir.OpAtomic:
		x.atomic(v)
	case ir.OpCAS:
		x.cas(v)
	case ir.OpFence:
		x.fence(v.Atomic.Order, ir.Scope(v.Aux))
	}
}

func (x *fn) spaceCast(v *ir.Value) {
	if keepsBits(v) { // of a constant
		x.move(x.reg(v), ir.I64, x.operand(v.Args[0]))
		return
	}
	name := "cvta" + spaceNames[space(v)] + ".u64"
	if v.Type.Space != ir.Generic {
		name = "cvta.to" + spaceNames[v.Type.Space] + ".u64"
	}
	x.op(name, x.reg(v), x.reg(v.Args[0]))
}

var loadHints = map[ir.Hint]string{ir.HintCA: ".ca", ir.HintCG: ".cg", ir.HintCS: ".cs", ir.HintLU: ".lu", ir.HintCV: ".cv"}
var storeHints = map[ir.Hint]string{ir.HintWB: ".wb", ir.HintCG: ".cg", ir.HintCS: ".cs", ir.HintWT: ".wt"}

// loadName returns the load instruction without its type suffix. It drops cache hints that the
// state space does not support.
func loadName(v *ir.Value) string {
	s := space(v)
	switch {
	case v.Hint == ir.HintVolatile && s != ir.Const:
		return "ld.volatile" + spaceNames[s]
	case v.Hint == ir.HintNC && s == ir.Global:
		return "ld.global.nc"
	case s == ir.Global || s == ir.Local || s == ir.Generic:
		return "ld" + spaceNames[s] + loadHints[v.Hint]
	}
	return "ld" + spaceNames[s]
}

func storeName(v *ir.Value) string {
	s := space(v)
	switch {
	case v.Hint == ir.HintVolatile:
		return "st.volatile" + spaceNames[s]
	case s == ir.Global || s == ir.Local || s == ir.Generic:
		return "st" + spaceNames[s] + storeHints[v.Hint]
	}
	return "st" + spaceNames[s]
}

func (x *fn) load(v *ir.Value) {
	if space(v) == ir.Const && v.Hint == ir.HintVolatile {
		x.fail("a volatile load of constant memory")
	}
	if v.Op == ir.OpLoadV {
		x.loadVector(v)
		return
	}
	x.loadScalar(loadName(v), x.reg(v), v.Mem, x.memory(v))
}

func (x *fn) loadScalar(name string, r build.Reg, m ir.Mem, at build.Operand) {
	if m != ir.MBool {
		x.op(name+"."+memTypes[m], r, at)
		return
	}
	t := x.temp(ir.I32)
	x.op(name+".u8", t, at)
	x.op("setp.ne.s32", r, t, build.Int(0))
}

// stored returns a value in its memory representation: a Bool is stored as 0 or 1.
func (x *fn) stored(v *ir.Value) build.Operand {
	if v.Type != ir.TBool {
		return x.operand(v)
	}
	if c := resolve(v); c.Op == ir.OpConst {
		return build.Int(c.Aux & 1)
	}
	t := x.temp(ir.I32)
	x.op("selp.b32", t, build.Int(1), build.Int(0), x.reg(v))
	return t
}

func (x *fn) store(v *ir.Value) {
	if v.Op == ir.OpStoreV {
		x.storeVector(v)
		return
	}
	x.op(storeName(v)+"."+memTypes[v.Mem], x.memory(v), x.stored(v.Args[1]))
}

// param emits the load of one part of a parameter. Kernels receive pointers as generic addresses,
// so a pointer to another state space than global memory is converted.
func (x *fn) param(v *ir.Value) {
	i, part := x.paramOf(int(v.Aux))
	if part == nil {
		x.fail("no part %d of the parameters", v.Aux)
		return
	}
	at := x.params[i].At(int64(part.Offset))
	if !x.f.Kernel && part.Mem != ir.MBool {
		x.op("ld.param."+passedTypes[part.Mem.Type().Kind], x.reg(v), at)
		return
	}
	if !x.f.Kernel {
		x.loadBool(x.reg(v), at)
		return
	}
	if part.Mem == ir.MPtr && part.Space != ir.Generic && part.Space != ir.Global {
		t := x.temp(ir.I64)
		x.op("ld.param.b64", t, at)
		x.op("cvta.to"+spaceNames[part.Space]+".u64", x.reg(v), t)
		return
	}
	x.loadScalar("ld.param", x.reg(v), part.Mem, at)
}

func (x *fn) paramOf(i int) (int, *ir.Part) {
	for p := range x.f.Params {
		if n := len(x.f.Params[p].Parts); i >= n {
			i -= n
			continue
		}
		return p, &x.f.Params[p].Parts[i]
	}
	return 0, nil
}
