package isa

import (
	"fmt"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

type reason uint8

const (
	fine        reason = iota
	undeclared         // a register or symbol that is not declared
	wrongType          // a register of another type
	notRegister        // not a register, where one is required
	notSource          // neither a register nor a constant
	floatAsInt         // a floating-point constant for an integer type
	intAsFloat         // an integer constant for a floating-point type
	special            // a special register, which only a few instructions can read
	specialLate        // a special register newer than the module's version or target
	readOnly           // a special register as a destination
	negated            // -r or !p where negation is not allowed
	sinkHere           // _ where a value is read or a result must be stored
	notAddress         // not an [address]
	badAddress         // an address such as [f] or [p]
	otherSpace         // the variable is in another state space
	absolute           // an absolute address such as [8], which is allowed only in .local
	notConst           // a register where a constant is required
	range_             // a constant out of bounds
	vectorSize         // a vector of the wrong length
	vectorHere         // {…} where a scalar is required
	notVector          // a scalar where {…} is required
	noComponent        // a component such as %v.x of a scalar
	inputParam         // st.param to the function's own input parameter
	noLabel            // a label that does not exist
	notMultiple        // a constant that is not a multiple of the required number
	noPair             // one value where a|b is required
	notSink            // a result where only _ is allowed
	noGeneric          // a generic address, which the old target does not support
	pairHere           // a|b where one value is required
)

// reasonText describes why operand o does not fit.
func (c *checker) reasonText(why reason, a *arg, m *match, o ptx.Operand) string {
	t := a.of(&m.types)
	want := c.wanted(a, t)
	switch why {
	case undeclared:
		return nameOf(o) + " is not declared"
	case wrongType:
		return "is " + c.describe(o) + "; it must be " + want
	case notRegister:
		return "must be a register, " + want
	case notSource:
		return "must be a register or a constant, " + want
	case floatAsInt:
		return "is a floating-point constant; it must be " + want
	case intAsFloat:
		return "is an integer constant; write it with a decimal point or as 0f…, 0d…: it must be " + want
	case special:
		return "is the special register " + nameOf(o) + ", which this instruction cannot read: move it to a register first"
	case specialLate:
		name := c.lateSpecial(o)
		return fmt.Sprintf("is the special register %s, which needs %v; the text is %v", name, specialNeed(name), &c.text)
	case readOnly:
		return "is the special register " + nameOf(o) + ", which cannot be written"
	case negated:
		return "cannot be negated here"
	case sinkHere:
		return "cannot be _ here; it must be " + want
	case notAddress:
		return "must be an address in brackets"
	case badAddress:
		return "is an address in " + c.describe(base(o)) + "; it must be in an integer register"
	case otherSpace:
		v, _ := c.lookup(nameOf(base(o)))
		if m.spaces == 0 {
			return fmt.Sprintf("is %s, which is in .%s: the instruction must name that space", nameOf(base(o)), v.Space)
		}
		return fmt.Sprintf("is %s, which is in .%s, not in .%s", nameOf(base(o)), v.Space, m.space[a.address])
	case absolute:
		return "is an absolute address, which only .local has"
	case notConst:
		return "must be a constant"
	case range_:
		return fmt.Sprintf("is out of range: it must be from %d to %d", a.low, a.hi)
	case vectorSize:
		n := int(a.count)
		if a.vecs {
			n = m.vector
		}
		return fmt.Sprintf("has %d elements; it must have %d", elementsOf(o), n)
	case vectorHere:
		return "is a vector; it must be " + want
	case notVector:
		n := int(a.count)
		if a.vecs {
			n = m.vector
		}
		return fmt.Sprintf("must be a vector of %d elements in braces", n)
	case noComponent:
		return nameOf(o) + " has no such component"
	case inputParam:
		return "is " + nameOf(base(o)) + ", a parameter of the function itself, which cannot be written"
	case noLabel:
		return "must be a label of this function"
	case notMultiple:
		return fmt.Sprintf("must be a multiple of %d", a.multiple)
	case noPair:
		return "must be a pair: the result and, after |, a predicate"
	case notSink:
		return "must be _: the result of another block's barrier is not available"
	case noGeneric:
		return "is a generic address, which needs PTX 2.0 and sm_20: name the state space"
	case pairHere:
		return "is a pair; it must be " + want
	}
	return "does not fit"
}

func (c *checker) wanted(a *arg, t ptx.Type) string {
	if a.kind == argPred {
		return "a predicate (.pred)"
	}
	n := ""
	if a.count > 1 {
		n = fmt.Sprintf("%d values, each ", a.count)
	}
	if a.relaxed {
		return n + "." + t.String() + " or wider"
	}
	return n + "." + t.String()
}

func (c *checker) describe(o ptx.Operand) string {
	if v, ok := o.(*ptx.Vec); ok {
		var out []string
		for _, e := range v.Elems {
			out = append(out, c.describe(e))
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	if s, ok := o.(*ptx.RegSum); ok {
		o = s.Reg
	}
	r, ok := o.(*ptx.Reg)
	if !ok {
		return "no register"
	}
	if r.Special {
		return "register " + r.Name
	}
	reg, _ := c.names.register(r.Name)
	return fmt.Sprintf("register %s of type .%s", r.Name, reg.typ)
}

func base(o ptx.Operand) ptx.Operand {
	if a, ok := o.(*ptx.Addr); ok && a.Base != nil {
		return a.Base
	}
	return o
}

func elementsOf(o ptx.Operand) int {
	if v, ok := o.(*ptx.Vec); ok {
		return len(v.Elems)
	}
	return 1
}

func nameOf(o ptx.Operand) string {
	switch o := o.(type) {
	case *ptx.Reg:
		if o.Sel != "" {
			return o.Name + "." + o.Sel
		}
		return o.Name
	case *ptx.RegSum:
		return o.Reg.Name
	case *ptx.Sym:
		return o.Name
	case *ptx.Elem:
		return o.Name
	case *ptx.Addr:
		if o.Base != nil {
			return nameOf(o.Base)
		}
	case *ptx.Pair:
		return nameOf(o.A)
	}
	return "the operand"
}
