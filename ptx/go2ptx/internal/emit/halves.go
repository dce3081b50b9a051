package emit

import (
	"slices"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Names of folded instructions on halves of registers that are not those of PTX.
const (
	joined   = "join"    // 64 bits of two halves
	upper    = "upper"   // the upper half of 64 bits
	joined16 = "join16"  // 32 bits of two numbers with 16 bits
	upper16  = "upper16" // the upper half of 32 bits
	bits16   = "bits16"  // the bits of a number that is rounded to bf16
	joined8  = "join8"   // 32 bits of the low bytes of four numbers
)

// foldHalves returns the instruction for v and operands of it if v is made of two halves, or is a half.
func (x *fn) foldHalves(v *ir.Value) (f folded, ok bool) {
	switch v.Op {
	case ir.OpOr:
		a, b := x.held(v.Args[0]), x.held(v.Args[1])
		if v.Type == ir.TI64 {
			if a.Op == ir.OpZExt32 {
				a, b = b, a
			}
			return x.join(v, a, b)
		}
		if v.Type == ir.TI32 {
			if f, ok = x.join16(v, a, b); !ok {
				f, ok = x.join16(v, b, a)
			}
			if !ok {
				f, ok = x.join8(v)
			}
			return f, ok
		}
	case ir.OpTrunc, ir.OpBitcast:
		if whole, high := x.half(v); high {
			if v.Op == ir.OpTrunc {
				return folded{upper, []*ir.Value{whole}}, true
			}
			return folded{upper16, []*ir.Value{whole}}, true
		}
		if c := x.held(v.Args[0]); v.Op == ir.OpBitcast && x.roundsToBF16(c) && x.once(c, v) {
			return folded{bits16, []*ir.Value{x.held(c.Args[0])}}, true
		}
	}
	return f, false
}

// roundsToBF16 reports whether v is a conversion from f32 to bf16 that integer instructions compute.
func (x *fn) roundsToBF16(v *ir.Value) bool {
	return v.Op == ir.OpFConv && v.Type == ir.TBF16 && v.Args[0].Type == ir.TF32 && x.m.arch < 80 && v.Round <= ir.RZ
}

// join returns the instruction for high<<32 | low.
func (x *fn) join(v, high, low *ir.Value) (f folded, ok bool) {
	if high.Op != ir.OpShl || low.Op != ir.OpZExt32 || !x.held(high.Args[1]).IsConst(32) || !x.once(high, v) || !x.once(low, v) {
		return f, false
	}
	if h := x.held(high.Args[0]); h.Op == ir.OpZExt32 && x.once(h, high) {
		return folded{joined, []*ir.Value{x.held(low.Args[0]), x.held(h.Args[0])}}, true
	}
	return f, false
}

// join16 returns the instruction for the bits of two numbers with 16 bits.
func (x *fn) join16(v, high, low *ir.Value) (f folded, ok bool) {
	if !x.once(high, v) {
		return f, false
	}
	selector := int64(0x5410)
	switch {
	case high.Op == ir.OpShl && x.held(high.Args[1]).IsConst(16):
	case high.Op == ir.OpAnd && x.held(high.Args[1]).IsConst(-1<<16):
		selector = 0x7610
	default:
		return f, false
	}
	from := x.held(high.Args[0])
	short := func(v *ir.Value) bool { return v.Op == ir.OpBitcast && v.Args[0].Type.Kind.Bits() == 16 }
	rounded := func(v *ir.Value) bool { return x.roundsToBF16(x.held(v.Args[0])) }
	switch {
	case short(low) && short(from) && selector == 0x5410 && x.once(low, v) && x.once(from, high) && !rounded(low) && !rounded(from):
		return folded{joined16, []*ir.Value{x.held(low.Args[0]), x.held(from.Args[0])}}, true
	case low.Op == ir.OpZExt16 || low.Op == ir.OpAnd && x.held(low.Args[1]).IsConst(0xffff):
		if !x.once(low, v) {
			return f, false
		}
		low = x.held(low.Args[0])
	case short(low), low.Op == ir.OpLoad && low.Mem == ir.MU16:
	default:
		return f, false
	}
	return folded{"prmt.b32", []*ir.Value{low, from, x.f.Const(ir.TI32, selector)}}, true
}

// join8 returns the instructions for a word of four bytes that are shifted and combined with or.
func (x *fn) join8(v *ir.Value) (f folded, ok bool) {
	var bytes [4]*ir.Value
	todo := []*ir.Value{v}
	for n := 0; len(todo) > 0; n++ {
		o := todo[0]
		todo = todo[1:]
		if n == len(bytes)-1 {
			return f, false
		}
		for _, a := range o.Args {
			a = x.held(a)
			if a.Op == ir.OpOr && x.once(a, o) {
				todo = append(todo, a)
				continue
			}
			b, i := x.byteOf(a)
			if b == nil {
				return f, false
			}
			bytes[i] = b
		}
	}
	if slices.Contains(bytes[:], nil) { // two of the four have the same place
		return f, false
	}
	return folded{joined8, bytes[:]}, true
}

// byteOf returns the number whose low byte is byte i of v, if the other bytes of v are 0, or nil.
func (x *fn) byteOf(v *ir.Value) (b *ir.Value, i int) {
	masked := func(v *ir.Value) *ir.Value {
		if v = x.held(v); v.Op == ir.OpZExt8 || v.Op == ir.OpAnd && x.held(v.Args[1]).IsConst(0xff) {
			return x.held(v.Args[0])
		}
		return nil
	}
	if v.Op != ir.OpShl {
		return masked(v), 0
	}
	switch n := x.held(v.Args[1]); {
	case n.IsConst(8) || n.IsConst(16):
		return masked(v.Args[0]), int(n.Aux / 8)
	case n.IsConst(24):
		return x.held(v.Args[0]), 3
	}
	return nil, 0
}

// emitJoined8 emits a word of four bytes.
func (x *fn) emitJoined8(v *ir.Value, bytes []*ir.Value) {
	low, high := x.temp(ir.I32), x.temp(ir.I32)
	x.op("prmt.b32", low, x.reg(bytes[0]), x.reg(bytes[1]), build.Int(0x0040))
	x.op("prmt.b32", high, x.reg(bytes[2]), x.reg(bytes[3]), build.Int(0x0040))
	x.op("prmt.b32", x.reg(v), low, high, build.Int(0x5410))
}

// half returns the value of which v is a half, and whether v is the upper half. The shift that moves the upper half
// has no other use.
func (x *fn) half(v *ir.Value) (whole *ir.Value, high bool) {
	a := x.held(v.Args[0])
	n := int64(32)
	switch {
	case v.Op == ir.OpTrunc:
	case v.Op == ir.OpBitcast && v.Type.Kind.Bits() == 16 && a.Type == ir.TI32:
		n = 16
	default:
		return nil, false
	}
	if a.Op == ir.OpLShr && x.held(a.Args[1]).IsConst(n) && x.once(a, v) {
		return x.held(a.Args[0]), true
	}
	return a, false
}

// pairHalves finds pairs of values that are the two halves of one. The first of them is emitted as an instruction
// that computes both.
func (x *fn) pairHalves(order []*ir.Block) {
	x.second, x.isSecond = map[*ir.Value]*ir.Value{}, map[*ir.Value]bool{}
	for _, b := range order {
		var first [2]map[*ir.Value]*ir.Value // low and high halves without the other one
		first[0], first[1] = map[*ir.Value]*ir.Value{}, map[*ir.Value]*ir.Value{}
		for _, v := range b.Values {
			if v.Op != ir.OpTrunc && v.Op != ir.OpBitcast || !x.need[v.ID] || x.held(v) != v || x.groups[v.ID] != nil {
				continue
			}
			whole, high := x.half(v)
			if whole == nil || whole.Op == ir.OpConst || whole.Op == ir.OpUndef {
				continue
			}
			i := 0
			if high {
				i = 1
			}
			if w := first[1-i][whole]; w != nil && x.second[w] == nil {
				x.second[w], x.isSecond[v] = v, true
			} else {
				first[i][whole] = v
			}
		}
	}
}

// emitHalf emits v if it is one of two halves.
func (x *fn) emitHalf(v *ir.Value) bool {
	if x.isSecond[v] {
		return true
	}
	w := x.second[v]
	if w == nil {
		return false
	}
	whole, high := x.half(v)
	low, up := x.reg(v), x.reg(w)
	if high {
		low, up = up, low
	}
	x.split(v, low, up, whole)
	return true
}

// split emits the instruction for both halves of a value, of which v is one.
func (x *fn) split(v *ir.Value, low, up build.Reg, whole *ir.Value) {
	name := "mov.b64"
	if v.Op == ir.OpBitcast {
		name = "mov.b32"
	}
	x.op(name, build.Vec(low, up), x.reg(whole))
}
