package isa

import (
	"strings"

	"github.com/purecuda/cuda/ptx"
)

func (c *checker) operand(a *arg, m *match, o ptx.Operand) reason {
	if a.kind == argAny {
		return c.exists(o)
	}
	if p, ok := o.(*ptx.Pair); ok {
		if !a.pair {
			return pairHere
		}
		if why := c.operand(&sinkPred, m, p.B); why != fine {
			return why
		}
		o = p.A
		if _, ok := o.(*ptx.Sink); ok {
			return fine
		}
	} else if a.pairs {
		return noPair
	}
	switch a.kind {
	case argNone:
		if _, ok := o.(*ptx.Sink); ok {
			return fine
		}
		return notSink
	case argAddr:
		return c.address(a, m, o)
	case argLabel:
		return c.label(o)
	case argImm:
		return c.immediate(a, m, o)
	}
	t := a.of(&m.types)
	n := int(a.count)
	if a.vecs {
		n = m.vector
	}
	v, isVec := o.(*ptx.Vec)
	switch {
	case n == 0 && isVec:
		return vectorHere
	case n == 0:
		return c.scalar(a, t, o)
	case isVec:
		if len(v.Elems) != n {
			return vectorSize
		}
		return c.elements(a, t, v)
	}
	r, ok := o.(*ptx.Reg)
	switch {
	case !ok:
		return notVector
	case r.Special:
		if !specialNeed(r.Name).met(&c.text) {
			return specialLate
		}
		if a.special && n == 4 && vectorSpecial(r) && t.Kind() != ptx.KindFloat && t.Size() <= 4 {
			return fine
		}
		return notVector
	}
	reg, there := c.names.register(r.Name)
	switch {
	case !there:
		return undeclared
	case n == 1 && a.count == 1 && reg.vector == 0 && !strings.HasSuffix(m.form.name, "mma"):
		return c.scalar(a, t, o)
	case reg.vector != n || r.Sel != "":
		return notVector
	case !accepts(t, reg.typ, a.relaxed):
		return wrongType
	}
	return fine
}

var sinkPred = arg{kind: argDst, typ: ptx.Pred, sink: true}

func (c *checker) scalar(a *arg, t ptx.Type, o ptx.Operand) reason {
	switch o := o.(type) {
	case *ptx.Reg:
		return c.reg(a, t, o)
	case *ptx.RegSum:
		if a.kind == argDst || a.kind == argReg {
			return notRegister
		}
		return c.regSum(t, o)
	case *ptx.Imm:
		return c.constant(a, t, o)
	case *ptx.Sink:
		if a.sink {
			return fine
		}
		return sinkHere
	case *ptx.Sym:
		return c.symbol(a, t, o.Name, o.Offset != 0)
	case *ptx.Elem:
		return c.symbol(a, t, o.Name, false)
	}
	if a.kind == argDst || a.kind == argReg {
		return notRegister
	}
	return notSource
}

func (c *checker) reg(a *arg, t ptx.Type, o *ptx.Reg) reason {
	if o.Special {
		return c.specialReg(a, t, o)
	}
	r, ok := c.names.register(o.Name)
	if !ok {
		return undeclared
	}
	if o.Neg && !a.neg || o.Not && (!a.not && a.kind != argPred || r.typ != ptx.Pred) {
		return negated
	}
	if r.vector != 0 && o.Sel == "" {
		return vectorHere
	}
	if o.Sel != "" && !component(r.vector, o.Sel) && !selects(a, o.Sel) {
		return noComponent
	}
	if a.number && (r.typ == ptx.F16x2 || r.typ == ptx.BF16x2) {
		return wrongType
	}
	if !accepts(t, r.typ, a.relaxed) {
		return wrongType
	}
	return fine
}

func component(vector int, sel string) bool {
	if len(sel) != 1 {
		return false
	}
	i := strings.IndexByte("xyzw", sel[0])
	if i < 0 {
		i = strings.IndexByte("rgba", sel[0])
	}
	return i >= 0 && i < vector
}

// selects reports whether the operand accepts a selector such as .b0 or .h1. A single-value operand
// accepts one byte or half. For packed halves or bytes, the selector of a source contains one part
// for each lane, and the selector of a result lists the lanes to write, highest first.
func selects(a *arg, sel string) bool {
	unit, digits := sel[0], sel[1:]
	switch a.selector {
	case 1:
		return len(digits) == 1 && (unit == 'b' && digits <= "3" || unit == 'h' && digits <= "1")
	case 2, 4:
		if unit != "  h b"[a.selector] {
			return false
		}
	default:
		return false
	}
	lanes := int(a.selector)
	if a.kind != argDst {
		return len(digits) == lanes && strings.Trim(digits, "01234567"[:2*lanes]) == ""
	}
	last := byte('0' + lanes)
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] >= last {
			return false
		}
		last = digits[i]
	}
	return digits != ""
}

// accepts reports whether an instruction of type t accepts a register of type r. The rules are in
// the PTX ISA under "Operand Type Checking" and "Operand Size Exceeding Instruction-Type Size".
func accepts(t, r ptx.Type, relaxed bool) bool {
	if t == r {
		return true
	}
	if t == ptx.Pred || r == ptx.Pred {
		return false
	}
	ts, rs := t.Size(), r.Size()
	if rs < ts || rs > ts && !relaxed {
		return false
	}
	if rs == 16 && ts != 16 {
		return false
	}
	packed := r == ptx.F16x2 || r == ptx.BF16x2
	switch t.Kind() {
	case ptx.KindBits:
		return true
	case ptx.KindUnsigned, ptx.KindSigned:
		switch t {
		case ptx.U16x2, ptx.S16x2, ptx.U8x4, ptx.S8x4:
			return r.Kind() != ptx.KindFloat
		}
		return packed || r.Kind() != ptx.KindFloat
	case ptx.KindFloat:
		return r.Kind() == ptx.KindBits
	}
	return false
}

func (c *checker) constant(a *arg, t ptx.Type, o *ptx.Imm) reason {
	switch {
	case a.kind == argDst || a.kind == argReg:
		return notRegister
	case a.kind == argPred || t == ptx.Pred:
		if o.IsFloat() {
			return floatAsInt
		}
		return fine
	case t == ptx.E4M3x2 || t == ptx.E5M2x2: // both types have 16 bits
		if o.IsFloat() {
			return floatAsInt
		}
	case t.Kind() == ptx.KindFloat && t != ptx.F32 && t != ptx.F64, t == ptx.U16x2, t == ptx.S16x2:
		return notRegister
	case t.Kind() == ptx.KindFloat && !o.IsFloat():
		return intAsFloat
	case o.IsFloat() && t.Kind() != ptx.KindFloat && (t != ptx.B32 || o.Kind != ptx.ImmF32) && (t != ptx.B64 || o.Kind != ptx.ImmF64):
		return floatAsInt
	case a.bounded && (o.Int64() < a.low || o.Int64() > a.hi):
		return range_
	case a.multiple != 0 && o.Int64()%a.multiple != 0:
		return notMultiple
	}
	return fine
}

func (c *checker) immediate(a *arg, m *match, o ptx.Operand) reason {
	i, ok := o.(*ptx.Imm)
	if !ok {
		return notConst
	}
	if t := a.of(&m.types); t != ptx.NoType {
		return c.constant(a, t, i)
	}
	if a.bounded && (i.IsFloat() || i.Int64() < a.low || i.Int64() > a.hi) {
		return range_
	}
	return fine
}

// regSum checks an operand such as r+4. Like the compiler, it does not check the width of the
// register.
func (c *checker) regSum(t ptx.Type, o *ptx.RegSum) reason {
	r, ok := c.names.register(o.Reg.Name)
	switch {
	case !ok:
		return undeclared
	case r.typ == ptx.Pred || t == ptx.Pred:
		return wrongType
	case t.Kind() == ptx.KindFloat && r.typ.Kind() != ptx.KindFloat && r.typ.Kind() != ptx.KindBits:
		return wrongType
	case (t.Kind() == ptx.KindSigned || t.Kind() == ptx.KindUnsigned) && r.typ.Kind() == ptx.KindFloat:
		return wrongType
	}
	return fine
}

// symbol checks the name of a variable or function as a value. The compiler accepts a name with an
// offset wherever it accepts an integer.
func (c *checker) symbol(a *arg, t ptx.Type, name string, offset bool) reason {
	v, f := c.lookup(name)
	switch {
	case v == nil && f == nil && c.labels[name] == noSuchLabel:
		return undeclared
	case v == nil && f == nil || a.kind == argDst || a.kind == argReg:
		return notSource
	case !a.symbol && !offset:
		return notSource
	}
	switch t.Kind() {
	case ptx.KindBits, ptx.KindUnsigned, ptx.KindSigned:
		if offset || a.signed || t != ptx.S64 {
			return fine
		}
	}
	return notSource
}

func (c *checker) lookup(name string) (*ptx.Variable, *ptx.Function) {
	v := c.names.local(name)
	if v == nil {
		v = c.vars[name]
	}
	if v != nil {
		c.use(v)
		return v, nil
	}
	return nil, c.funcs[name]
}
