package build

import (
	"math"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/num"
)

// Scalar lists the types that a Value can have. A bool is a predicate.
type Scalar interface {
	bool | Number
}

// Number lists the numeric types.
type Number interface {
	int32 | uint32 | int64 | uint64 | float32 | float64 | num.F16 | num.BF16
}

// Value is a value in a kernel, in a register or constant. Its methods add instructions that
// compute further values. All values in an expression must belong to the same function. A Value is
// an [Operand].
type Value[T Scalar] struct {
	f *Func
	o Operand
}

// kind describes how PTX represents a Go type.
type kind struct {
	reg   ptx.Type // type of the register
	name  string   // type suffix for arithmetic, such as "f32"
	bits  string   // type suffix for moves, such as "b32"
	float bool
	size  int64
}

func kindOf[T Scalar]() kind {
	switch any(*new(T)).(type) {
	case bool:
		return kind{ptx.Pred, "pred", "pred", false, 1}
	case int32:
		return kind{ptx.B32, "s32", "b32", false, 4}
	case uint32:
		return kind{ptx.B32, "u32", "b32", false, 4}
	case int64:
		return kind{ptx.B64, "s64", "b64", false, 8}
	case uint64:
		return kind{ptx.B64, "u64", "b64", false, 8}
	case float32:
		return kind{ptx.F32, "f32", "f32", true, 4}
	case float64:
		return kind{ptx.F64, "f64", "f64", true, 8}
	case num.F16:
		return kind{ptx.B16, "f16", "b16", true, 2}
	}
	return kind{ptx.B16, "bf16", "b16", true, 2}
}

// Const returns a constant.
func Const[T Scalar](f *Func, v T) Value[T] {
	var o Operand
	switch v := any(v).(type) {
	case bool:
		o = Int(0)
		if v {
			o = Int(1)
		}
		r := f.Reg(ptx.Pred)
		f.Op("setp.ne.b32", r, o, Int(0))
		return Value[T]{f, r}
	case int32:
		o = Int(int64(v))
	case uint32:
		o = Int(int64(v))
	case int64:
		o = Int(v)
	case uint64:
		o = Uint(v)
	case float32:
		o = F32(v)
	case float64:
		o = F64(v)
	case num.F16:
		return half[T](f, v.Bits())
	case num.BF16:
		return half[T](f, v.Bits())
	}
	return Value[T]{f, o}
}

// half moves a 16-bit constant to a register, because arithmetic instructions do not accept it as
// an operand.
func half[T Scalar](f *Func, bits uint16) Value[T] {
	r := f.Reg(ptx.B16)
	f.Op("mov.b16", r, Int(int64(bits)))
	return Value[T]{f, r}
}

// Of returns the register r as a value of type T.
func Of[T Scalar](f *Func, r Reg) Value[T] { return Value[T]{f, r} }

// ReadSpecial returns the value of a 32-bit special register.
func ReadSpecial(f *Func, s Special) Value[uint32] {
	r := f.Reg(ptx.B32)
	f.Op("mov.u32", r, s)
	return Value[uint32]{f, r}
}

// Func returns the function that the value belongs to.
func (v Value[T]) Func() *Func { return v.f }

// Reg returns the register of the value. A constant is moved to a new register.
func (v Value[T]) Reg() Reg {
	if r, ok := v.o.(Reg); ok {
		return r
	}
	k := kindOf[T]()
	r := v.f.Reg(k.reg)
	v.f.Op("mov."+k.bits, r, v)
	return r
}

func (v Value[T]) operand(f *Func) (ptx.Operand, string) {
	if v.f == nil {
		return nil, "is the zero Value"
	}
	return resolve(v.o, f)
}

// Apply returns the result of an instruction that operates on v and, optionally, further operands.
// The result has the same type as v. An example is v.Apply("ex2.approx.f32").
func (v Value[T]) Apply(op string, more ...Operand) Value[T] {
	return apply[T](v.f, op, append([]Operand{v}, more...)...)
}

// apply adds an instruction with a new register for its result.
func apply[T Scalar](f *Func, op string, args ...Operand) Value[T] {
	if !f.ready() {
		return Value[T]{}
	}
	r := f.Reg(kindOf[T]().reg)
	f.Op(op, append([]Operand{r}, args...)...)
	return Value[T]{f, r}
}

// arith returns the result of an arithmetic operation with the type suffix and, for floats,
// rounding to nearest.
func (v Value[T]) arith(op, float string, more ...Operand) Value[T] {
	k := kindOf[T]()
	if k.float {
		op = float
	}
	return v.Apply(op+"."+k.name, more...)
}

// rounded adds .rn to the name for f32 and f64. An instruction with .rn is never fused.
func rounded[T Scalar](op string) string {
	if k := kindOf[T](); k.float && k.size >= 4 {
		return op + ".rn"
	}
	return op
}

// Add returns v + w. The compiler does not fuse it with a multiplication.
func (v Value[T]) Add(w Value[T]) Value[T] { return v.arith("add", rounded[T]("add"), w) }

// Sub returns v - w.
func (v Value[T]) Sub(w Value[T]) Value[T] { return v.arith("sub", rounded[T]("sub"), w) }

// Mul returns v * w.
func (v Value[T]) Mul(w Value[T]) Value[T] { return v.arith("mul.lo", rounded[T]("mul"), w) }

// MulAdd returns v*w + u. For floats, it is a fused operation, which rounds only once.
func (v Value[T]) MulAdd(w, u Value[T]) Value[T] { return v.arith("mad.lo", "fma.rn", w, u) }

// Div returns v / w. For f32 and f64, it is correctly rounded. The result of an integer division by
// zero is unspecified.
func (v Value[T]) Div(w Value[T]) Value[T] { return v.arith("div", "div.rn", w) }

// Rem returns the remainder of the integer division v / w.
func (v Value[T]) Rem(w Value[T]) Value[T] { return v.arith("rem", "rem", w) }

// Min returns the smaller of v and w. If one of them is a NaN, Min returns the other.
func (v Value[T]) Min(w Value[T]) Value[T] { return v.arith("min", "min", w) }

// Max returns the larger of v and w. If one of them is a NaN, Max returns the other.
func (v Value[T]) Max(w Value[T]) Value[T] { return v.arith("max", "max", w) }

// Neg returns -v. The type must be signed.
func (v Value[T]) Neg() Value[T] { return v.arith("neg", "neg") }

// Abs returns the absolute value of v. The type must be signed.
func (v Value[T]) Abs() Value[T] { return v.arith("abs", "abs") }

// Sqrt returns the correctly rounded square root of v. The type must be f32 or f64.
func (v Value[T]) Sqrt() Value[T] { return v.arith("sqrt.rn", "sqrt.rn") }

func (v Value[T]) bitwise(op string, more ...Operand) Value[T] {
	k := kindOf[T]()
	if k.float {
		v.f.fail(op + " of a floating-point value: it is for integers and predicates")
		return v
	}
	return v.Apply(op+"."+k.bits, more...)
}

// And returns v & w, for integers or predicates.
func (v Value[T]) And(w Value[T]) Value[T] { return v.bitwise("and", w) }

// Or returns v | w, for integers or predicates.
func (v Value[T]) Or(w Value[T]) Value[T] { return v.bitwise("or", w) }

// Xor returns v ^ w, for integers or predicates.
func (v Value[T]) Xor(w Value[T]) Value[T] { return v.bitwise("xor", w) }

// Not returns the complement of v, which must be an integer or a predicate.
func (v Value[T]) Not() Value[T] { return v.bitwise("not") }

// Shl returns v << n, for integers.
func (v Value[T]) Shl(n Value[uint32]) Value[T] { return v.bitwise("shl", n) }

// Shr returns v >> n, for integers. If the type is signed, the shift is arithmetic.
func (v Value[T]) Shr(n Value[uint32]) Value[T] { return v.arith("shr", "shr", n) }

func (v Value[T]) compare(op string, w Value[T]) Value[bool] {
	return apply[bool](v.f, "setp."+op+"."+kindOf[T]().name, v, w)
}

// Eq returns v == w. As in Go, a comparison with a NaN is false.
func (v Value[T]) Eq(w Value[T]) Value[bool] { return v.compare("eq", w) }

// Ne returns v != w. As in Go, it is true if an operand is a NaN.
func (v Value[T]) Ne(w Value[T]) Value[bool] {
	if kindOf[T]().float {
		return v.compare("neu", w)
	}
	return v.compare("ne", w)
}

// Lt returns v < w.
func (v Value[T]) Lt(w Value[T]) Value[bool] { return v.compare("lt", w) }

// Le returns v <= w.
func (v Value[T]) Le(w Value[T]) Value[bool] { return v.compare("le", w) }

// Gt returns v > w.
func (v Value[T]) Gt(w Value[T]) Value[bool] { return v.compare("gt", w) }

// Ge returns v >= w.
func (v Value[T]) Ge(w Value[T]) Value[bool] { return v.compare("ge", w) }

// Select returns a if cond is true, and b otherwise.
func Select[T Number](cond Value[bool], a, b Value[T]) Value[T] {
	return apply[T](cond.f, "selp."+kindOf[T]().bits, a, b, cond)
}

// Set changes the value of v to w. Use [Mutable] to create values for Set. A constant cannot be
// changed.
func (v Value[T]) Set(w Value[T]) {
	if _, ok := v.o.(Reg); !ok {
		v.f.fail("Set of a constant: Mutable returns a value that may change")
		return
	}
	v.f.Op("mov."+kindOf[T]().bits, v, w)
}

// Mutable returns a copy of v in a new register, for [Value.Set].
func Mutable[T Scalar](v Value[T]) Value[T] {
	return apply[T](v.f, "mov."+kindOf[T]().bits, v)
}

// Convert converts a number to another type. Conversions between integers keep the low bits, as in
// Go. Conversions from floats to integers round toward zero, and out-of-range values become the
// nearest integer of the type. Conversions to floats round once, to the nearest number.
func Convert[To, From Number](v Value[From]) Value[To] {
	to, from := kindOf[To](), kindOf[From]()
	switch {
	case to.name == from.name:
		return Value[To](v)
	case from.name == "bf16":
		return fromBF16[To](v.f, v)
	case !to.float && !from.float && to.size == from.size:
		return apply[To](v.f, "mov."+to.bits, v)
	}
	return apply[To](v.f, "cvt"+rounding(to, from)+"."+to.name+"."+from.name, asReg(v))
}

// asReg returns v in a register, because cvt does not accept constants of some types.
func asReg[T Scalar](v Value[T]) Operand { return v.Reg() }

func rounding(to, from kind) string {
	switch {
	case from.float && !to.float:
		return ".rzi"
	case to.float && (!from.float || from.size > to.size):
		return ".rn"
	}
	return ""
}

// fromBF16 converts through float32. A BF16 is the upper half of a float32.
func fromBF16[To Number](f *Func, v Operand) Value[To] {
	wide := f.Reg(ptx.B32)
	f.Op("mov.b32", wide, Vec(half[num.BF16](f, 0), v))
	x := f.Reg(ptx.F32)
	f.Op("mov.b32", x, wide)
	return Convert[To](Value[float32]{f, x})
}

// Inf returns positive infinity as a constant.
func Inf(f *Func) Value[float32] { return Const(f, float32(math.Inf(1))) }
