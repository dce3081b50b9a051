package emit

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// passedTypes maps each kind to the PTX type in which functions pass parameters and results. A Bool
// is passed as 0 or 1 in 32 bits.
var passedTypes = map[ir.Kind]string{
	ir.Bool: "b32", ir.I32: "b32", ir.I64: "b64", ir.Ptr: "b64", ir.F16: "b16", ir.BF16: "b16", ir.F32: "f32", ir.F64: "f64",
}

var passedDecls = map[ir.Kind]ptx.Type{
	ir.Bool: ptx.B32, ir.I32: ptx.B32, ir.I64: ptx.B64, ir.Ptr: ptx.B64, ir.F16: ptx.B16, ir.BF16: ptx.B16, ir.F32: ptx.F32, ir.F64: ptx.F64,
}

func (x *fn) funcParams() {
	if r := x.f.Results; len(r) == 1 {
		x.results = x.b.Result("result", passedDecls[r[0].Kind])
	} else if len(r) > 1 {
		_, size := offsets(r)
		x.results = x.b.Result("result", ptx.B8).Array(size).Align(8)
	}
	for i, p := range x.f.Params {
		if len(p.Parts) != 1 {
			x.fail("parameter %d has %d parts", i, len(p.Parts))
			return
		}
		x.params = append(x.params, x.b.Param(fmt.Sprintf("param%d", i), passedDecls[p.Parts[0].Mem.Type().Kind]))
	}
}

// offsets returns the offset of each result within the byte array in which a function returns
// several results, and the size of that array.
func offsets(types []ir.Type) (at []int64, size int64) {
	for _, t := range types {
		n := int64(max(t.Kind.Bits(), 32)) / 8
		if t.Kind == ir.F16 || t.Kind == ir.BF16 {
			n = 2
		}
		size = (size + n - 1) / n * n
		at = append(at, size)
		size += n
	}
	return at, (size + 7) / 8 * 8
}

func (x *fn) loadBool(r build.Reg, at build.Operand) {
	t := x.temp(ir.I32)
	x.op("ld.param.b32", t, at)
	x.op("setp.ne.s32", r, t, build.Int(0))
}

func (x *fn) ret(results []*ir.Value) {
	at, _ := offsets(x.f.Results)
	for i, r := range results {
		x.op("st.param."+passedTypes[r.Type.Kind], x.results.At(at[i]), x.stored(r))
	}
	x.op("ret")
}

func (x *fn) call(v *ir.Value) {
	callee := x.m.funcs[v.Callee]
	if callee == nil {
		x.fail("a call of %s, which is not in the module", v.Callee.Name)
		return
	}
	// The names must differ from those in the callee's declaration. In a recursive function, ptxas
	// would take the result's name for the function's own return parameter, which cannot be read.
	x.b.Block(func() {
		var args []build.Operand
		for i, a := range v.Args {
			p := x.b.ParamVar(fmt.Sprintf("arg%d", i), passedDecls[a.Type.Kind], 0)
			x.op("st.param."+passedTypes[a.Type.Kind], p.At(0), x.stored(a))
			args = append(args, p)
		}
		var operands []build.Operand
		var result *build.Var
		r := v.Callee.Results
		if len(r) == 1 {
			result = x.b.ParamVar("ret", passedDecls[r[0].Kind], 0)
		} else if len(r) > 1 {
			_, size := offsets(r)
			result = x.b.ParamVar("ret", ptx.B8, size).Align(8)
		}
		if result != nil {
			operands = append(operands, build.List(result))
		}
		if !x.m.indirect(x.f, v.Callee) {
			operands = append(operands, callee)
			if len(args) > 0 {
				operands = append(operands, build.List(args...))
			}
			x.op("call", operands...)
		} else {
			address := x.temp(ir.I64)
			x.op("mov.u64", address, callee)
			x.op("call", append(operands, address, build.List(args...), x.b.Prototype(callee))...)
		}
		x.fetch(v, result)
	})
}

// fetch loads the results of a call into registers.
func (x *fn) fetch(v *ir.Value, result *build.Var) {
	types := v.Callee.Results
	at, _ := offsets(types)
	for i, t := range types {
		r := build.Reg{}
		if len(types) == 1 {
			r = x.reg(v)
		} else {
			r = x.tuple(v)[i]
		}
		if t == ir.TBool {
			x.loadBool(r, result.At(at[i]))
		} else {
			x.op("ld.param."+passedTypes[t.Kind], r, result.At(at[i]))
		}
	}
}
