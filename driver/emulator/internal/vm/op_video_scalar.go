package vm

import (
	"slices"

	"github.com/purecuda/cuda/ptx"
)

// vshr is the only scalar video instruction implemented here, and only in the forms with whole
// registers. Today's devices have none of these instructions. Drivers replace them by sequences of
// others, and the results differ from what the ISA describes. (On an H100 with driver 580,
// vadd.u32.u32.u32.sat wraps around, a result in .h1 is the upper half of the sum, and .min and
// .max compare other values.) For these forms of vshr, the results agree.

func init() {
	register(lowerVshr, "vshr")
}

// scalarShift is a form of vshr.
type scalarShift struct {
	signedA, signed, wrap, sat, add bool
}

func lowerVshr(l *lowerer, i *ptx.Instr, f *form) {
	v := scalarShift{sat: f.has(flagSat), wrap: slices.Contains(f.rest, "wrap"), add: slices.Contains(f.rest, "add")}
	known := 1 + int(b2u(v.add))
	if len(f.types) != 3 || f.types[2] != ptx.U32 || f.flags&^flagSat != 0 || !v.wrap && !slices.Contains(f.rest, "clamp") {
		l.bad("form is not known")
		return
	}
	selected := slices.ContainsFunc(i.Args, func(o ptx.Operand) bool {
		_, sel := videoSelector(o)
		return sel != ""
	})
	if len(f.rest) != known || selected {
		l.missing("scalar video instructions but vshr of whole registers")
		return
	}
	if !v.add && len(i.Args) == 4 { // the ISA does not say what the fourth is for
		l.unsupported()
		return
	}
	if want := 3 + int(b2u(v.add)); !l.args(i, want, want) {
		return
	}
	v.signed, v.signedA = f.types[0] == ptx.S32, f.types[1] == ptx.S32
	c := l.constant(class32, 0)
	if v.add {
		c = l.src(i.Args[3], ptx.U32)
	}
	a, b := l.src(i.Args[1], ptx.U32), l.src(i.Args[2], ptx.U32)
	l.emit(lane3(v.of), l.dst(i.Args[0], ptx.U32), a, b, c)
}

func (v scalarShift) of(a, b, c uint32) uint32 {
	x := int64(a)
	if v.signedA {
		x = int64(int32(a))
	}
	if v.wrap {
		b &= 31
	}
	x >>= min(b, 32)
	if v.sat && v.signed {
		x = min(x, 1<<31-1)
	} else if v.sat {
		x = max(x, 0)
	}
	return uint32(x) + c // which is 0 without .add
}
