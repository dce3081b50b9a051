package fused

import (
	"fmt"
	"math/bits"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/num"
)

// threads is the number of threads of a block, and packBytes the size of what a thread stores at a
// time.
const (
	threads   = 256
	packBytes = 16
)

// emitter writes a kernel. A thread computes a pack, the elements in 16 aligned bytes of the
// destination, and loads the same elements of each input. An input whose elements are aligned too is
// loaded with accesses of up to 16 bytes. The packs at both ends may be incomplete. Their elements
// are computed one by one.
type emitter struct {
	*build.Func
	p        *program
	size     int64       // of an element of the destination
	each     int64       // number of elements of a pack
	dst      build.Reg   // address
	inputs   []build.Reg // address of each step that is an input
	uniform  []build.Reg // value of each step that is the same for all elements
	n        build.Reg
	computed []bool // whether a step depends on an input
}

// ptx returns the kernel that computes the program.
func (p *program) ptx() ([]byte, error) {
	m := build.New(build.Config{})
	size := p.result().typ.size()
	e := &emitter{
		Func: m.Kernel(p.name()).ReqNTID(threads, 1, 1), p: p, size: size, each: packBytes / size,
		inputs: make([]build.Reg, len(p.steps)), uniform: make([]build.Reg, len(p.steps)), computed: make([]bool, len(p.steps)),
	}
	e.arguments()
	e.packs()
	return m.Text()
}

// arguments loads the parameters, and computes what is the same for all elements.
func (e *emitter) arguments() {
	e.dst, e.n = e.pointer(destination, e.size), e.Reg(ptx.B64)
	e.Op("ld.param.u64", e.n, e.Param(length, ptx.U64).At(0))
	for i, s := range e.p.steps {
		switch s.op {
		case input:
			e.inputs[i], e.computed[i] = e.pointer(s.name, s.typ.size()), true
		case scalar:
			e.uniform[i] = e.number(s)
		case constant:
			e.uniform[i] = e.constant(s)
		default:
			for k := range operands(s.op) {
				e.computed[i] = e.computed[i] || e.computed[s.args[k]]
			}
			if !e.computed[i] {
				e.uniform[i] = e.step(i, e.uniform)
			}
		}
	}
}

func (e *emitter) pointer(name string, align int64) build.Reg {
	r := e.Reg(ptx.B64)
	e.Op("ld.param.u64", r, e.Param(name, ptx.U64).Ptr(ptx.GlobalSpace, int(align)).At(0))
	e.Op("cvta.to.global.u64", r, r)
	return r
}

// number loads a scalar in the type in which it is computed.
func (e *emitter) number(s step) build.Reg {
	if s.typ.half() {
		r := e.Reg(ptx.B16)
		e.Op("ld.param.b16", r, e.Param(s.name, ptx.B16).At(0))
		return e.widened(s.typ, r)
	}
	t := ptx.ParseType(s.typ.String())
	r := e.Reg(t)
	e.Op("ld.param."+s.typ.String(), r, e.Param(s.name, t).At(0))
	return r
}

func (e *emitter) constant(s step) build.Reg {
	r := e.register(s.typ)
	switch s.typ {
	case f16:
		e.Op("mov.f32", r, build.F32(num.F16FromBits(uint16(s.bits)).Float32()))
	case bf16:
		e.Op("mov.f32", r, build.F32Bits(uint32(s.bits)<<16))
	case f32:
		e.Op("mov.f32", r, build.F32Bits(uint32(s.bits)))
	case f64:
		e.Op("mov.f64", r, build.F64Bits(s.bits))
	}
	return r
}

// packs adds the loop over the packs of a thread. A grid that covers all elements has one for each.
func (e *emitter) packs() {
	logSize, logEach := uint64(bits.TrailingZeros64(uint64(e.size))), uint64(bits.TrailingZeros64(uint64(e.each)))
	before, low := e.Reg(ptx.B64), e.Reg(ptx.B64)
	e.Op("and.b64", before, e.dst, build.Int(packBytes-1))
	e.Op("shr.u64", before, before, build.Uint(logSize))
	block, blocks, thread := e.special(build.CtaidX), e.special(build.NctaidX), e.special(build.TidX)
	first, stride, wide := e.Reg(ptx.B64), e.Reg(ptx.B64), e.Reg(ptx.B64)
	e.Op("cvt.u64.u32", wide, thread)
	e.Op("mad.wide.u32", first, block, build.Int(threads), wide)
	e.Op("shl.b64", first, first, build.Uint(logEach))
	e.Op("sub.s64", first, first, before)
	e.Op("mul.wide.u32", stride, blocks, build.Int(threads<<logEach))

	loop, part, next, end := e.NewLabel("loop"), e.NewLabel("part"), e.NewLabel("next"), e.NewLabel("end")
	inside, after, full, high := e.Reg(ptx.Pred), e.Reg(ptx.B64), e.Reg(ptx.Pred), e.Reg(ptx.B64)
	e.Place(loop)
	e.Op("setp.lt.s64", inside, first, e.n)
	e.Unless(inside).Bra(end)
	e.Op("add.s64", after, first, build.Int(e.each))
	e.Op("setp.le.s64", full, after, e.n)
	e.Op("setp.ge.and.s64", full, first, build.Int(0), full)
	e.Unless(full).Bra(part)
	e.complete(first)
	e.Bra(next)

	e.Place(part)
	e.Op("max.s64", low, first, build.Int(0))
	e.Op("min.s64", high, after, e.n)
	one, more := e.NewLabel("one"), e.Reg(ptx.Pred)
	e.Place(one)
	e.Op("setp.lt.s64", more, low, high)
	e.Unless(more).Bra(next)
	e.element(low)
	e.Op("add.s64", low, low, build.Int(1))
	e.Bra(one)
	e.Place(next)
	e.Op("add.s64", first, first, stride)
	e.Bra(loop)
	e.Place(end)
}

func (e *emitter) special(s build.Special) build.Reg {
	r := e.Reg(ptx.B32)
	e.Op("mov.u32", r, s)
	return r
}

// complete computes the pack whose first element has the index i.
func (e *emitter) complete(i build.Reg) {
	loaded := make([][]build.Reg, len(e.p.steps))
	for k, s := range e.p.steps {
		if s.op == input {
			loaded[k] = e.load(e.address(e.inputs[k], i, s.typ.size()), s.typ)
		}
	}
	results := make([]build.Reg, e.each)
	for k := range results {
		results[k] = e.compute(func(s int) build.Reg { return loaded[s][k] })
	}
	e.store(e.address(e.dst, i, e.size), results)
}

// element computes the element with the index i.
func (e *emitter) element(i build.Reg) {
	r := e.compute(func(s int) build.Reg {
		typ := e.p.steps[s].typ
		r := e.raw(typ)
		e.Op("ld.global."+moved(typ), r, e.address(e.inputs[s], i, typ.size()).At(0))
		return r
	})
	e.Op("st.global."+moved(e.p.result().typ), e.address(e.dst, i, e.size).At(0), r)
}

// compute returns one element of the result as it is stored. The function load returns the element
// of an input.
func (e *emitter) compute(load func(s int) build.Reg) build.Reg {
	values := make([]build.Reg, len(e.p.steps))
	for i, s := range e.p.steps {
		switch {
		case !e.computed[i]:
			values[i] = e.uniform[i]
		case s.op == input:
			values[i] = e.widened(s.typ, load(i))
		default:
			values[i] = e.step(i, values)
		}
	}
	last := len(values) - 1
	return e.narrowed(e.p.steps[last], values[last])
}

func (e *emitter) address(base, i build.Reg, size int64) build.Reg {
	r := e.Reg(ptx.B64)
	e.Op("mad.lo.s64", r, i, build.Int(size), base)
	return r
}

// load returns the elements of a complete pack.
func (e *emitter) load(at build.Reg, typ element) []build.Reg {
	elems := make([]build.Reg, e.each)
	for k := range elems {
		elems[k] = e.raw(typ)
	}
	size := typ.size()
	access := min(packBytes, e.each*size)
	single, end := e.NewLabel("single"), e.NewLabel("loaded")
	rest, aligned := e.Reg(ptx.B64), e.Reg(ptx.Pred)
	e.Op("and.b64", rest, at, build.Int(access-1))
	e.Op("setp.eq.u64", aligned, rest, build.Int(0))
	e.Unless(aligned).Bra(single)
	for k := int64(0); k < e.each; k += access / size {
		e.vector(typ, "ld", at.At(k*size), elems[k:k+access/size])
	}
	e.Bra(end)
	e.Place(single)
	for k, r := range elems {
		e.Op("ld.global."+moved(typ), r, at.At(int64(k)*size))
	}
	e.Place(end)
	return elems
}

func (e *emitter) store(at build.Reg, elems []build.Reg) {
	e.vector(e.p.result().typ, "st", at.At(0), elems)
}

// vector loads or stores elements with one access. 16-bit elements move in pairs.
func (e *emitter) vector(typ element, op string, at build.Operand, elems []build.Reg) {
	regs, of := elems, moved(typ)
	if typ.half() {
		regs, of = e.Regs(ptx.B32, len(elems)/2), "b32"
	}
	if op == "st" && typ.half() {
		e.pairs(regs, elems, false)
	}
	operand := build.Operand(regs[0])
	if len(regs) > 1 {
		operand, of = build.VecOf(regs...), fmt.Sprintf("v%d.%s", len(regs), of)
	}
	if op == "st" {
		e.Op("st.global."+of, at, operand)
		return
	}
	e.Op("ld.global."+of, operand, at)
	if typ.half() {
		e.pairs(regs, elems, true)
	}
}

func (e *emitter) pairs(regs, elems []build.Reg, unpack bool) {
	for i, r := range regs {
		if both := build.Vec(elems[2*i], elems[2*i+1]); unpack {
			e.Op("mov.b32", both, r)
		} else {
			e.Op("mov.b32", r, both)
		}
	}
}

// raw returns a register for an element as it is in memory.
func (e *emitter) raw(typ element) build.Reg {
	if typ.half() {
		return e.Reg(ptx.B16)
	}
	return e.register(typ)
}

// register returns a register for an element as it is computed.
func (e *emitter) register(typ element) build.Reg {
	if typ == f64 {
		return e.Reg(ptx.F64)
	}
	return e.Reg(ptx.F32)
}

// moved is the type of loads and stores of elements.
func moved(typ element) string {
	if typ.half() {
		return "b16"
	}
	return typ.String()
}
