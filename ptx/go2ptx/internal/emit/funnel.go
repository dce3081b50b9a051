package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// funnel emits a funnel shift. A 64-bit one consists of two, because ptxas does not recognize a 64-bit
// rotation in shifts of 64 bits.
func (x *fn) funnel(v *ir.Value) {
	high, low := resolve(v.Args[0]), resolve(v.Args[1])
	if v.Type == ir.TI32 {
		x.op("shf.l.wrap.b32", x.reg(v), x.operand(low), x.operand(high), x.operand(v.Args[2]))
		return
	}
	words := x.halves(low)
	if low == high {
		words = append(words, words...)
	} else {
		words = append(words, x.halves(high)...)
	}
	n := resolve(v.Args[2]).Aux
	words = words[1-n/32:] // the result is in the first three words
	result := words[1:3]
	if n%32 != 0 {
		for i := range result {
			r := x.temp(ir.I32)
			x.op("shf.l.wrap.b32", r, words[i], words[i+1], build.Int(n%32))
			words[i] = r
		}
		result = words[:2]
	}
	x.op("mov.b64", x.reg(v), build.Vec(result...))
}

// halves returns the two words of a 64-bit value, the low one first.
func (x *fn) halves(v *ir.Value) []build.Operand {
	low, high := x.temp(ir.I32), x.temp(ir.I32)
	x.op("mov.b64", build.Vec(low, high), x.reg(v))
	return []build.Operand{low, high}
}
