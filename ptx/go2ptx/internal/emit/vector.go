package emit

import (
	"fmt"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// maxPredicated is the largest number of elements that are accessed one after another with predicated
// instructions if a vector is not aligned. The instructions for more elements are in a branch.
const maxPredicated = 4

// loadVector emits a vector load. If it has a condition that is false, it loads the elements one
// after another.
func (x *fn) loadVector(v *ir.Value) {
	name, regs := loadName(v), x.tuple(v)
	one := func(op func(string, ...build.Operand), i int) {
		op(name+"."+memTypes[v.Mem], regs[i], x.memoryAt(v, i))
	}
	x.whenAligned(v, v.Args[1:], func(op func(string, ...build.Operand)) { x.wholeLoad(op, name, v, regs) }, one)
}

// storeVector emits a vector store, as loadVector does.
func (x *fn) storeVector(v *ir.Value) {
	name, elems := storeName(v), make([]build.Operand, v.N)
	for i, a := range v.Args[1 : 1+v.N] {
		k := a.Type.Kind
		if k == ir.Bool {
			k = ir.I32
		}
		elems[i] = x.inReg(k, x.stored(a))
	}
	one := func(op func(string, ...build.Operand), i int) {
		op(name+"."+memTypes[v.Mem], x.memoryAt(v, i), elems[i])
	}
	x.whenAligned(v, v.Args[1+v.N:], func(op func(string, ...build.Operand)) { x.wholeStore(op, name, v, elems) }, one)
}

// whenAligned emits an access to a whole vector, or accesses to its elements if the vector has a
// condition that is false.
func (x *fn) whenAligned(v *ir.Value, cond []*ir.Value, whole func(op func(string, ...build.Operand)), one func(op func(string, ...build.Operand), i int)) {
	plain := x.op
	each := func(op func(string, ...build.Operand)) {
		for i := range v.N {
			one(op, i)
		}
	}
	if len(cond) == 0 {
		whole(plain)
		return
	}
	c, not := strip(cond[0])
	if c.Op == ir.OpConst {
		if (c.Aux != 0) != not {
			whole(plain)
		} else {
			each(plain)
		}
		return
	}
	p := x.reg(c)
	yes, no := x.b.When(p), x.b.Unless(p)
	if not {
		yes, no = no, yes
	}
	if v.N <= maxPredicated {
		each(no.Op) // first, so that ptxas does not let them wait for the extraction of elements from words
		whole(yes.Op)
		return
	}
	slow, done := x.b.NewLabel("unaligned"), x.b.NewLabel("aligned")
	no.Bra(slow)
	whole(plain)
	x.b.Place(done)
	at := x.at
	x.late = append(x.late, func() {
		x.b.Place(slow)
		x.loc(at)
		each(plain)
		x.b.Bra(done)
	})
}

// words returns the number of 32-bit words as which a vector is accessed, or 0. PTX has vectors of up
// to four elements. Ptxas extracts narrow integers with two instructions each, so they are loaded as
// words, too. When it stores narrow elements, ptxas 13.0 joins them in the register of the first one, even if
// another instruction needs that element later, as in random kernel k700003369. So they are stored as words.
func words(v *ir.Value, load bool) int {
	m := v.Mem
	integer := m == ir.MS8 || m == ir.MU8 || m == ir.MS16 || m == ir.MU16
	narrow := integer || !load && (m == ir.MF16 || m == ir.MBF16)
	if size := v.N * m.Size(); v.N > 4 || narrow && size >= 4 {
		return size / 4
	}
	return 0
}

// wordType returns the type suffix of an access to n words.
func wordType(n int) string {
	if n == 1 {
		return ".b32"
	}
	return fmt.Sprintf(".v%d.b32", n)
}

// wholeLoad emits a vector load.
func (x *fn) wholeLoad(op func(string, ...build.Operand), name string, v *ir.Value, regs []build.Reg) {
	n := words(v, true)
	if n == 0 {
		raw := make([]build.Reg, len(regs))
		for i, r := range regs {
			if raw[i] = r; v.Mem == ir.MBool {
				raw[i] = x.temp(ir.I32)
			}
		}
		op(fmt.Sprintf("%s.v%d.%s", name, v.N, memTypes[v.Mem]), build.VecOf(raw...), x.memory(v))
		for i, r := range regs {
			if v.Mem == ir.MBool {
				op("setp.ne.s32", r, raw[i], build.Int(0))
			}
		}
		return
	}
	list := make([]build.Reg, n)
	for i := range list {
		list[i] = x.temp(ir.I32)
	}
	var to build.Operand = list[0]
	if n > 1 {
		to = build.VecOf(list...)
	}
	op(name+wordType(n), to, x.memory(v))
	per := v.N / n
	for i, w := range list {
		x.unpack(op, v.Mem, regs[i*per:(i+1)*per], w)
	}
}

// selectors contains the selectors with which prmt extends the elements of a word. Its second operand
// is 0.
var selectors = map[ir.Mem][]int64{
	ir.MS8:  {0x8880, 0x9991, 0xaaa2, 0xbbb3},
	ir.MU8:  {0x4440, 0x4441, 0x4442, 0x4443},
	ir.MS16: {0x9910, 0xbb32},
	ir.MU16: {0x4410, 0x4432},
}

// unpack extracts the elements of a word.
func (x *fn) unpack(op func(string, ...build.Operand), m ir.Mem, regs []build.Reg, word build.Reg) {
	list := selectors[m]
	if list == nil { // F16 or BF16
		op("mov.b32", build.VecOf(regs...), word)
		return
	}
	for i, r := range regs {
		op("prmt.b32", r, word, build.Int(0), build.Int(list[i]))
	}
}

// wholeStore emits a vector store, as wholeLoad does.
func (x *fn) wholeStore(op func(string, ...build.Operand), name string, v *ir.Value, elems []build.Operand) {
	n := words(v, false)
	if n == 0 && (v.Mem == ir.MS8 || v.Mem == ir.MU8) { // two elements
		w := x.temp(ir.I32)
		op("prmt.b32", w, elems[0], elems[1], build.Int(0x0040))
		op(name+".u16", x.memory(v), w)
		return
	}
	if n == 0 {
		op(fmt.Sprintf("%s.v%d.%s", name, v.N, memTypes[v.Mem]), x.memory(v), build.Vec(elems...))
		return
	}
	list := make([]build.Operand, n)
	per := v.N / n
	for i := range list {
		list[i] = x.pack(op, v.Mem, elems[i*per:(i+1)*per])
	}
	from := list[0]
	if n > 1 {
		from = build.Vec(list...)
	}
	op(name+wordType(n), x.memory(v), from)
}

// pack makes a word of its elements.
func (x *fn) pack(op func(string, ...build.Operand), m ir.Mem, elems []build.Operand) build.Operand {
	w := x.temp(ir.I32)
	switch {
	case m == ir.MF16 || m == ir.MBF16:
		op("mov.b32", w, build.Vec(elems...))
	case m.Size() == 2:
		op("prmt.b32", w, elems[0], elems[1], build.Int(0x5410))
	default:
		high := x.temp(ir.I32)
		op("prmt.b32", w, elems[0], elems[1], build.Int(0x0040))
		op("prmt.b32", high, elems[2], elems[3], build.Int(0x0040))
		op("prmt.b32", w, w, high, build.Int(0x5410))
	}
	return w
}
