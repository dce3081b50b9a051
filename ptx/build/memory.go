package build

import (
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// Pointer is the address of elements of type T in a state space.
type Pointer[T Number] struct {
	f     *Func
	space string // state space as a suffix, such as ".global" or ".shared"
	base  Operand
}

// PointerParam adds a kernel parameter that is a pointer to global memory, and loads it.
func PointerParam[T Number](f *Func, name string) Pointer[T] {
	p := f.Param(name, ptx.U64).Ptr(ptx.GlobalSpace, int(kindOf[T]().size))
	r, g := f.Reg(ptx.B64), f.Reg(ptx.B64)
	f.Op("ld.param.u64", r, p.At(0))
	f.Op("cvta.to.global.u64", g, r)
	return Pointer[T]{f, ".global", g}
}

// NumberParam adds a parameter that is a number, and loads it.
func NumberParam[T Number](f *Func, name string) Value[T] {
	k := kindOf[T]()
	t := ptx.ParseType(k.name)
	if k.size == 2 {
		t = ptx.B16
	}
	r := f.Reg(k.reg)
	f.Op("ld.param."+t.String(), r, f.Param(name, t).At(0))
	return Value[T]{f, r}
}

// SharedArray declares an array of n elements in shared memory.
func SharedArray[T Number](f *Func, name string, n int64) Pointer[T] {
	k := kindOf[T]()
	v := f.Shared(name, ptx.ParseType("b"+strconv.FormatInt(8*k.size, 10)), n).Align(int(k.size))
	r := f.Reg(ptx.B32)
	f.Op("mov.u32", r, v)
	return Pointer[T]{f, ".shared", r}
}

// Index is an index into the memory of a [Pointer]. Values of all integer types implement it.
type Index interface {
	Operand
	// offset returns the address base + i*size. wide is set for 64-bit addresses.
	offset(f *Func, base Operand, size int64, wide bool) Operand
}

func (v Value[T]) offset(f *Func, base Operand, size int64, wide bool) Operand {
	k := kindOf[T]()
	if c, ok := v.o.(constant); ok && !k.float {
		return address{base, c.node.Int64() * size, nil}
	}
	t := ptx.B32
	op := "mad.lo.u32"
	if wide {
		t = ptx.B64
		if op = "mad.lo.u64"; k.size == 4 {
			op = "mad.wide." + k.name
		}
	}
	r := f.Reg(t)
	f.Op(op, r, v, Int(size), base)
	return address{r, 0, nil}
}

// At returns the address of element i as an address operand for [Func.Op].
func (p Pointer[T]) At(i Index) Operand {
	if i == nil || !p.f.ready() {
		return address{}
	}
	return i.offset(p.f, p.base, kindOf[T]().size, p.wide())
}

// From returns a pointer to element i.
func (p Pointer[T]) From(i Index) Pointer[T] {
	if i == nil || !p.f.ready() {
		return Pointer[T]{}
	}
	a, ok := i.offset(p.f, p.base, kindOf[T]().size, p.wide()).(address)
	if !ok {
		return Pointer[T]{}
	}
	if a.offset == 0 {
		return Pointer[T]{p.f, p.space, a.base}
	}
	t, op := ptx.B32, "add.u32"
	if p.wide() {
		t, op = ptx.B64, "add.s64"
	}
	r := p.f.Reg(t)
	p.f.Op(op, r, a.base, Int(a.offset))
	return Pointer[T]{p.f, p.space, r}
}

// wide reports whether addresses in the state space have 64 bits.
func (p Pointer[T]) wide() bool { return p.space == ".global" }

// Load loads element i.
func (p Pointer[T]) Load(i Index) Value[T] {
	return apply[T](p.f, "ld"+p.space+"."+kindOf[T]().bits, p.At(i))
}

// Store stores v in element i.
func (p Pointer[T]) Store(i Index, v Value[T]) {
	if p.f.ready() {
		p.f.Op("st"+p.space+"."+kindOf[T]().bits, p.At(i), v)
	}
}
