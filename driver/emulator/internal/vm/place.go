package vm

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx"
)

// The operands of memory instructions: forms, spaces, places, vectors.

// cacheMod reports whether a modifier of loads and stores is only a hint.
func cacheMod(m string) bool {
	switch m {
	case "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak":
		return true
	}
	for _, p := range []string{"L1::", "L2::", "level::"} {
		if len(m) > len(p) && m[:len(p)] == p {
			return true
		}
	}
	return false
}

// memForm is a memory instruction's form.
type memForm struct {
	typ   ptx.Type
	n     int // elements
	space ptx.Space
	sync  bool
}

// memory checks the modifiers of a load or store.
func (l *lowerer) memory(f *form) (mf memForm, ok bool) {
	for _, r := range f.rest {
		if r != "shared::cluster" && !cacheMod(r) {
			l.unsupported()
			return mf, false
		}
	}
	mf = memForm{typ: f.typ(), n: max(f.vec, 1), space: f.space}
	mf.sync = f.sem != "" && f.sem != "weak"
	if f.flags&^flagNC != 0 || len(f.types) != 1 || mf.typ == ptx.Pred {
		l.unsupported()
		return mf, false
	}
	return mf, true
}

// place is the target of a memory operand: a column and an offset.
type place struct {
	space ptx.Space
	base  reg // noReg for a kernel parameter
	imm   uint64
}

// memoryPlace resolves a memory operand.
func (l *lowerer) memoryPlace(o ptx.Operand, space ptx.Space) place {
	switch o := o.(type) {
	case *ptx.Elem:
		return l.elemPlace(o, space)
	case *ptx.Sym:
		return l.symPlace(o.Name, o.Offset, space)
	case *ptx.Addr:
		if len(o.Rest) != 0 {
			l.unsupported()
		}
		switch b := o.Base.(type) {
		case nil:
			return place{space, l.constant(class64, uint64(o.Offset)), 0}
		case *ptx.Sym:
			return l.symPlace(b.Name, b.Offset+o.Offset, space)
		case *ptx.Reg:
			if space == ptx.ParamSpace && !l.fn.Entry {
				space = ptx.LocalSpace // where functions have their parameters
			}
			l.looseWidth = true
			r, _ := l.readReg(b)
			if r.class == classPred {
				l.bad("address is a predicate")
			}
			if r.class == class32 && space == ptx.GenericSpace {
				r = l.convert(r, class64)
			}
			return place{space, r, uint64(o.Offset)}
		case *ptx.Imm:
			return place{space, l.constant(class64, b.Bits+uint64(o.Offset)), 0}
		case *ptx.Elem:
			p := l.elemPlace(b, space)
			p.imm += uint64(o.Offset)
			return p
		}
	}
	l.bad("operand is not a memory operand")
	return place{space, l.constant(class64, 0), 0}
}

// elemPlace returns the place of an array element.
func (l *lowerer) elemPlace(o *ptx.Elem, space ptx.Space) place {
	v := l.lookupVar(o.Name)
	if v == nil {
		l.unresolved(o.Name)
		return place{space, l.constant(class64, 0), 0}
	}
	size := int64(v.v.Type.Size() * max(v.v.Vector, 1))
	p := l.symPlace(o.Name, o.Offset*size, space)
	if o.Index == nil {
		return p
	}
	l.looseWidth = true
	idx := l.convert(l.src(o.Index, ptx.U32), class64)
	at := l.newReg(class64)
	base := p.base
	if base == noReg {
		base = l.constant(class64, paramWindow+p.imm)
		p.imm = 0
	}
	l.emit(execMadLo[uint64], at, idx, l.constant(class64, uint64(size)), base)
	p.base = at
	return p
}

// symPlace returns the place of a variable.
func (l *lowerer) symPlace(name string, offset int64, space ptx.Space) place {
	v := l.lookupVar(name)
	if v == nil {
		r := l.symbol(name, offset) // reports what is wrong
		return place{space, r, 0}
	}
	if v.kernel {
		return place{ptx.ParamSpace, noReg, uint64(v.offset) + uint64(offset)}
	}
	s := v.space
	if s == ptx.ParamSpace {
		s = ptx.LocalSpace
	}
	if space == ptx.GenericSpace && s != ptx.GlobalSpace && s != ptx.ConstSpace {
		space = s // [var] without a space is an access in var's own
	}
	if space == ptx.ParamSpace {
		space = ptx.LocalSpace
	}
	if space != s && !(space == ptx.GenericSpace || s == ptx.ConstSpace && space == ptx.GlobalSpace) {
		l.bad("variable %s is not in space .%s", name, space)
	}
	return place{space, l.symbol(name, offset), 0}
}

// spaceCode returns the number of a space in inst.aux.
func spaceCode(s ptx.Space) uint16 {
	switch s {
	case ptx.GlobalSpace:
		return spaceGlobal
	case ptx.SharedSpace:
		return spaceShared
	case ptx.LocalSpace:
		return spaceLocal
	case ptx.ConstSpace:
		return spaceConst
	}
	return spaceGeneric
}

func log2(n int) uint16 { return uint16(bits.TrailingZeros(uint(n))) }

// memType returns the integer type with a type's size and sign.
func memType(t ptx.Type) ptx.Type {
	signed := t.Kind() == ptx.KindSigned
	switch t.Size() {
	case 1:
		if signed {
			return ptx.S8
		}
		return ptx.U8
	case 2:
		if signed {
			return ptx.S16
		}
		return ptx.U16
	case 4:
		if signed {
			return ptx.S32
		}
		return ptx.U32
	}
	return ptx.U64
}

// elems returns the operands of a vector access, or the single operand.
func (l *lowerer) elems(o ptx.Operand, n int) []ptx.Operand {
	if v, ok := o.(*ptx.Vec); ok {
		if len(v.Elems) != n {
			l.bad("vector of %d elements, want %d", len(v.Elems), n)
			return nil
		}
		return v.Elems
	}
	if n == 1 {
		return []ptx.Operand{o}
	}
	r, ok := o.(*ptx.Reg)
	if !ok || r.Sel != "" {
		l.bad("operand is not a vector")
		return nil
	}
	if d, ok := l.lookupReg(r.Name); ok && d.vector != n {
		l.bad("register %s is not a vector of %d", r.Name, n)
		return nil
	}
	return components(r, n)
}
