package fused

import (
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
)

// operands returns the number of operands of an operation.
func operands(op operation) int {
	switch op {
	case input, scalar, constant:
		return 0
	case add, sub, mul, div, maximum, minimum:
		return 2
	case fma:
		return 3
	}
	return 1
}

// instructions has the operations that are one instruction. Those of arithmetic round, and ptxas
// does not fuse them.
var instructions = map[operation]string{
	add: "add.rn", sub: "sub.rn", mul: "mul.rn", div: "div.rn", fma: "fma.rn",
	maximum: "max", minimum: "min", neg: "neg", abs: "abs", sqrt: "sqrt.rn",
}

// step computes a step that has operands.
func (e *emitter) step(i int, values []build.Reg) build.Reg {
	s := e.p.steps[i]
	if s.op == cast {
		return e.cast(s, e.p.steps[s.args[0]], values[s.args[0]])
	}
	typ := f32 // in which the step is computed
	if s.typ == f64 {
		typ = f64
	}
	suffix := "." + typ.String()
	first := values[s.args[0]]
	name, ok := instructions[s.op]
	if !ok && s.op != relu {
		return inline(e.Func, s.op.String()+"_"+typ.String(), first)
	}
	r := e.register(typ)
	if s.op == relu { // NaN stays NaN
		zero, negative := build.F32(0), e.Reg(ptx.Pred)
		if typ == f64 {
			zero = build.F64(0)
		}
		e.Op("setp.lt"+suffix, negative, first, zero)
		e.Op("selp"+suffix, r, zero, first, negative)
		return r
	}
	args := []build.Operand{r}
	for k := range operands(s.op) {
		args = append(args, values[s.args[k]])
	}
	e.Op(name+suffix, args...)
	return r
}

// cast converts x, which step from has computed.
func (e *emitter) cast(s, from step, x build.Reg) build.Reg {
	x = e.rounded(from, x)
	switch {
	case s.typ == f64 && s.from != f64:
		r := e.Reg(ptx.F64)
		e.Op("cvt.f64.f32", r, x)
		return r
	case s.typ == f32 && s.from == f64:
		r := e.Reg(ptx.F32)
		e.Op("cvt.rn.f32.f64", r, x)
		return r
	case s.from == f64 && s.typ.half(): // so that the value is rounded only once
		x = inline(e.Func, "odd_f64", x)
	}
	return e.rounded(step{op: add, typ: s.typ}, x) // as a step that is not exact
}

// exact reports whether the step's value has the type of the step. Other 16-bit values are float32.
func (s step) exact() bool { return !s.typ.half() || s.op <= cast }

// rounded rounds the value of a step to the step's type.
func (e *emitter) rounded(s step, x build.Reg) build.Reg {
	switch {
	case s.exact():
		return x
	case s.typ == f16:
		return e.widened(f16, e.narrowed(s, x))
	}
	return inline(e.Func, "bf16_f32", x)
}

// narrowed converts the value of a step to the form that it has in memory.
func (e *emitter) narrowed(s step, x build.Reg) build.Reg {
	switch s.typ {
	case f16:
		r := e.Reg(ptx.B16)
		e.Op("cvt.rn.f16.f32", r, x)
		return r
	case bf16: // the upper half of a float32
		r, low, bits := e.Reg(ptx.B16), e.Reg(ptx.B16), e.Reg(ptx.B32)
		e.Op("mov.b32", bits, e.rounded(s, x))
		e.Op("mov.b32", build.Vec(low, r), bits)
		return r
	}
	return x
}

// widened converts an element from the form that it has in memory.
func (e *emitter) widened(typ element, x build.Reg) build.Reg {
	switch typ {
	case f16:
		r := e.Reg(ptx.F32)
		e.Op("cvt.f32.f16", r, x)
		return r
	case bf16:
		r, low, bits := e.Reg(ptx.F32), e.Reg(ptx.B16), e.Reg(ptx.B32)
		e.Op("mov.b16", low, build.Int(0))
		e.Op("mov.b32", bits, build.Vec(low, x))
		e.Op("mov.b32", r, bits)
		return r
	}
	return x
}
