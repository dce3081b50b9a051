package isa

import "github.com/purecuda/cuda/ptx"

// elements checks { a, b }. The compiler derives a single type for a vector from its registers. If
// any register has a bit type, so does the vector. Otherwise all registers must be integers, or all
// must be floats.
func (c *checker) elements(a *arg, t ptx.Type, v *ptx.Vec) reason {
	var all ptx.Type // common type of the elements so far
	var exact, wide, ints bool
	size := 0
	for _, e := range v.Elems {
		var one ptx.Type
		switch o := e.(type) {
		case *ptx.Sink:
			if a.kind != argDst {
				return sinkHere
			}
			continue
		case *ptx.Imm:
			if a.kind == argDst || a.kind == argReg {
				return notRegister
			}
			switch {
			case !o.IsFloat():
				ints = true
			case o.Kind == ptx.ImmF32:
				exact = true
			default:
				wide = true
			}
			continue
		case *ptx.Reg:
			if o.Special {
				if a.kind == argDst {
					return readOnly
				}
				switch {
				case !specialNeed(o.Name).met(&c.text):
					return specialLate
				case vectorSpecial(o):
					return vectorHere
				}
				one = specialType(o)
				break
			}
			r, ok := c.names.register(o.Name)
			switch {
			case !ok:
				return undeclared
			case o.Neg || o.Not:
				return negated
			case r.vector != 0 && o.Sel == "":
				return vectorHere
			case o.Sel != "" && !component(r.vector, o.Sel):
				return noComponent
			}
			one = r.typ
		default:
			if a.kind == argDst || a.kind == argReg {
				return notRegister
			}
			return notSource
		}
		if one != ptx.Pred {
			if size != 0 && size != one.Size() {
				return wrongType
			}
			size = one.Size()
		}
		var ok bool
		if all, ok = join(all, one); !ok {
			return wrongType
		}
	}
	if ints && len(v.Elems) == 1 && t.Size() == 4 {
		return notRegister
	}
	floats := exact || wide
	switch {
	case a.exact && wide && t == ptx.F32 && all.Kind() == ptx.KindBits:
		return wrongType
	case ints && floats, ints && all.Kind() == ptx.KindFloat, floats && (all.Kind() == ptx.KindSigned || all.Kind() == ptx.KindUnsigned):
		return wrongType
	case all != ptx.NoType:
	case ints:
		if t.Kind() == ptx.KindFloat {
			return intAsFloat
		}
		return fine
	case wide:
		if t != ptx.F32 && t != ptx.F64 && t != ptx.B64 {
			return floatAsInt
		}
		return fine
	case exact:
		if t != ptx.F32 && t != ptx.F64 && t != ptx.B32 {
			return floatAsInt
		}
		return fine
	default: // all elements are sinks
		return fine
	}
	if !accepts(t, all, a.relaxed) {
		return wrongType
	}
	return fine
}

// join returns the common type of elements of types a and b. It returns false if they have none.
func join(a, b ptx.Type) (ptx.Type, bool) {
	switch {
	case a == ptx.NoType || a == b:
		return b, true
	case a.Kind() == ptx.KindBits:
		return a, true
	case b.Kind() == ptx.KindBits:
		return b, true
	case a.Kind() == ptx.KindFloat && b.Kind() == ptx.KindFloat && a.Size() == b.Size():
		return a, true
	}
	integer := func(t ptx.Type) bool { return t.Kind() == ptx.KindSigned || t.Kind() == ptx.KindUnsigned }
	return a, integer(a) && integer(b)
}
