package build

import (
	"math"
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// Operand is an operand of an instruction: a [Reg], a [Special] register, a constant, an address, a
// [Var], a [Param], a [Func], a [Label], a vector, a [Value], or one of the modified forms that
// methods of these types return.
type Operand interface {
	// operand returns the syntax of the operand in function f, or a description of a problem. In an
	// initializer, f is nil.
	operand(f *Func) (node ptx.Operand, problem string)
}

// Reg is a register of a function. [Func.Reg] creates it. The zero Reg is not a register.
type Reg struct{ r *register }

type register struct {
	node ptx.Reg
	typ  ptx.Type
	f    *Func
}

// Type returns the type with which the register is declared.
func (r Reg) Type() ptx.Type {
	if r.r == nil {
		return ptx.NoType
	}
	return r.r.typ
}

// String returns the register's name, such as %r1.
func (r Reg) String() string {
	if r.r == nil {
		return ""
	}
	return r.r.node.Name
}

// IsValid reports whether r is a register rather than the zero Reg.
func (r Reg) IsValid() bool { return r.r != nil }

// At returns the address operand [r+offset]. For textures, surfaces and tensor maps, rest are the
// operands that follow the first comma in the brackets.
func (r Reg) At(offset int64, rest ...Operand) Operand { return address{r, offset, rest} }

// Plus returns the operand r+offset.
func (r Reg) Plus(offset int64) Operand { return sum{r, offset} }

// Not returns the operand !r of a predicate.
func (r Reg) Not() Operand { return modified{r: r, not: true} }

// Neg returns the operand -r, which the video instructions accept.
func (r Reg) Neg() Operand { return modified{r: r, neg: true} }

// Part returns the operand r.selector, a byte or a half of r for video instructions, such as "b0".
func (r Reg) Part(selector string) Operand { return modified{r: r, sel: selector} }

func (r Reg) operand(f *Func) (ptx.Operand, string) {
	if why := r.in(f); why != "" {
		return nil, why
	}
	return &r.r.node, ""
}

// in returns the reason why f cannot use the register, or "".
func (r Reg) in(f *Func) string {
	switch {
	case r.r == nil:
		return "is the zero Reg: Func.Reg creates a register"
	case r.r.f != f:
		return "is register " + r.r.node.Name + " of " + r.r.f.node.Name + ": registers belong to one function"
	}
	return ""
}

// modified is !r, -r or r.sel.
type modified struct {
	r        Reg
	not, neg bool
	sel      string
}

func (o modified) operand(f *Func) (ptx.Operand, string) {
	if why := o.r.in(f); why != "" {
		return nil, why
	}
	if !isWord(o.sel) {
		return nil, "has the invalid selector " + strconv.Quote(o.sel)
	}
	node := o.r.r.node
	node.Not, node.Neg, node.Sel = o.not, o.neg, o.sel
	return &node, ""
}

// sum is r+offset or symbol+offset.
type sum struct {
	base   Operand
	offset int64
}

func (o sum) operand(f *Func) (ptx.Operand, string) {
	base, why := resolve(o.base, f)
	if why != "" {
		return nil, why
	}
	switch b := base.(type) {
	case *ptx.Reg:
		if o.offset == 0 {
			return b, ""
		}
		return &ptx.RegSum{Reg: b, Offset: o.offset}, ""
	case *ptx.Sym:
		s := *b
		s.Offset += o.offset
		return &s, ""
	}
	return nil, "is a sum whose base is neither a register nor a symbol"
}

// address is [base+offset, rest...].
type address struct {
	base   Operand
	offset int64
	rest   []Operand
}

func (o address) operand(f *Func) (ptx.Operand, string) {
	base, why := resolve(o.base, f)
	if why != "" {
		return nil, why
	}
	rest, why := resolveAll(o.rest, f)
	if why != "" {
		return nil, why
	}
	return &ptx.Addr{Base: base, Offset: o.offset, Rest: rest}, ""
}

type constant struct{ node *ptx.Imm }

func (o constant) operand(*Func) (ptx.Operand, string) { return o.node, "" }

// Int returns an integer constant.
func Int(v int64) Operand { return constant{&ptx.Imm{Kind: ptx.ImmInt, Bits: uint64(v)}} }

// Uint returns an unsigned integer constant.
func Uint(v uint64) Operand {
	if v <= math.MaxInt64 {
		return Int(int64(v))
	}
	return constant{&ptx.Imm{Kind: ptx.ImmUint, Bits: v}}
}

// F32 returns a constant with exactly the bits of v.
func F32(v float32) Operand { return F32Bits(math.Float32bits(v)) }

// F64 returns a constant with exactly the bits of v.
func F64(v float64) Operand { return F64Bits(math.Float64bits(v)) }

// F32Bits returns the single-precision constant that has the given bits.
func F32Bits(bits uint32) Operand {
	return constant{&ptx.Imm{Kind: ptx.ImmF32, Bits: uint64(bits)}}
}

// F64Bits returns the double-precision constant that has the given bits.
func F64Bits(bits uint64) Operand { return constant{&ptx.Imm{Kind: ptx.ImmF64, Bits: bits}} }

type vector []Operand

func (o vector) operand(f *Func) (ptx.Operand, string) {
	elems, why := resolveAll(o, f)
	return &ptx.Vec{Elems: elems}, why
}

// Vec returns the vector {elems...}.
func Vec(elems ...Operand) Operand { return vector(elems) }

// VecOf returns the vector of the registers.
func VecOf(regs ...Reg) Operand {
	v := make(vector, len(regs))
	for i, r := range regs {
		v[i] = r
	}
	return v
}

type list []Operand

func (o list) operand(f *Func) (ptx.Operand, string) {
	elems, why := resolveAll(o, f)
	return &ptx.List{Elems: elems}, why
}

// List returns the operand list (elems...) of a call instruction. [Func.Call] adds a complete call
// instead.
func List(elems ...Operand) Operand { return list(elems) }

type pair struct{ a, b Operand }

func (o pair) operand(f *Func) (ptx.Operand, string) {
	a, why := resolve(o.a, f)
	if why != "" {
		return nil, why
	}
	b, why := resolve(o.b, f)
	return &ptx.Pair{A: a, B: b}, why
}

// Pair returns the destination a|b: two predicates, or a value and a predicate.
func Pair(a, b Operand) Operand { return pair{a, b} }

type sink struct{}

func (sink) operand(*Func) (ptx.Operand, string) { return &ptx.Sink{}, "" }

// Discard returns the destination _, which discards the result.
func Discard() Operand { return sink{} }

type raw struct{ node ptx.Operand }

func (o raw) operand(*Func) (ptx.Operand, string) {
	if o.node == nil {
		return nil, "is nil"
	}
	return o.node, ""
}

// Syntax returns an operand with the given syntax. It does not check that registers and symbols in
// the operand belong to the function.
func Syntax(node ptx.Operand) Operand { return raw{node} }

func resolve(o Operand, f *Func) (ptx.Operand, string) {
	if o == nil {
		return nil, "is nil"
	}
	return o.operand(f)
}

func resolveAll(list []Operand, f *Func) ([]ptx.Operand, string) {
	if len(list) == 0 {
		return nil, ""
	}
	out := make([]ptx.Operand, len(list))
	for i, o := range list {
		node, why := resolve(o, f)
		if why != "" {
			return nil, why
		}
		out[i] = node
	}
	return out, ""
}
