package isa

import "github.com/purecuda/cuda/ptx"

func (c *checker) address(a *arg, m *match, o ptx.Operand) reason {
	if m.spaces == 0 && c.target < 20 {
		return noGeneric
	}
	switch o := o.(type) {
	case *ptx.Addr:
		switch b := o.Base.(type) {
		case nil:
			if m.space[0] != "local" {
				return absolute
			}
		case *ptx.Reg:
			return c.addressReg(b)
		case *ptx.Sym:
			return c.space(a, m, b.Name)
		}
		return fine
	case *ptx.Elem:
		return c.space(a, m, o.Name)
	}
	return notAddress
}

func (c *checker) addressReg(b *ptx.Reg) reason {
	if b.Special {
		switch {
		case !specialNeed(b.Name).met(&c.text):
			return specialLate
		case b.Sel != "":
			return noComponent
		}
		return fine
	}
	r, ok := c.names.register(b.Name)
	switch {
	case !ok:
		return undeclared
	case r.vector != 0 && b.Sel == "":
		return vectorHere
	case b.Sel != "" && !component(r.vector, b.Sel):
		return noComponent
	}
	switch r.typ.Kind() {
	case ptx.KindBits, ptx.KindSigned, ptx.KindUnsigned:
		if r.typ != ptx.B128 {
			return fine
		}
	}
	return badAddress
}

// space checks that a variable is in the state space that the instruction accesses.
func (c *checker) space(a *arg, m *match, name string) reason {
	v, _ := c.lookup(name)
	if v == nil {
		return undeclared
	}
	if int(a.address) >= len(m.space) {
		return fine
	}
	if m.spaces == 0 { // the instruction uses generic addresses
		switch v.Space {
		case ptx.ConstSpace, ptx.ParamSpace:
			return otherSpace
		}
		return fine
	}
	if s, ok := ptx.ParseSpace(m.space[a.address]); ok && s != v.Space {
		return otherSpace
	}
	return fine
}

func (c *checker) label(o ptx.Operand) reason {
	s, ok := o.(*ptx.Sym)
	switch {
	case !ok:
		return noLabel
	case c.labels[s.Name] == noSuchLabel:
		return noLabel
	}
	return fine
}

// exists checks that the names in an operand are declared. It is used for operands that no other
// check covers.
func (c *checker) exists(o ptx.Operand) reason {
	switch o := o.(type) {
	case *ptx.Reg:
		if _, ok := c.names.register(o.Name); !ok && !o.Special {
			return undeclared
		}
	case *ptx.Sym:
		if v, f := c.lookup(o.Name); v == nil && f == nil && c.labels[o.Name] == noSuchLabel {
			return undeclared
		}
	case *ptx.Vec:
		return c.existAll(o.Elems)
	case *ptx.List:
		return c.existAll(o.Elems)
	case *ptx.Addr:
		if o.Base != nil {
			if why := c.exists(o.Base); why != fine {
				return why
			}
		}
		return c.existAll(o.Rest)
	}
	return fine
}

func (c *checker) existAll(list []ptx.Operand) reason {
	for _, o := range list {
		if why := c.exists(o); why != fine {
			return why
		}
	}
	return fine
}
