package fused

import (
	"reflect"
	"unsafe"

	"github.com/purecuda/cuda/ptx/kernels"
)

// Value is an operand of an expression with elements of type T: an [Input], a [Scalar] or an [Expr].
type Value[T kernels.Float] interface {
	expr() Expr[T]
}

// Expr is an expression with elements of type T. It is a small value. The zero Expr causes an error
// in [New].
type Expr[T kernels.Float] struct{ n *node }

func (e Expr[T]) expr() Expr[T] { return e }

// Input is an array with one element for each element of the destination. The string is its name,
// which must be different from those of the other inputs and scalars of the expression. It consists
// of letters, digits and underscores.
type Input[T kernels.Float] string

func (x Input[T]) expr() Expr[T] {
	return Expr[T]{&node{step: step{op: input, typ: typeOf[T](), name: string(x)}}}
}

// Scalar is a number that is an argument of the kernel. The string is its name, as in [Input].
type Scalar[T kernels.Float] string

func (a Scalar[T]) expr() Expr[T] {
	return Expr[T]{&node{step: step{op: scalar, typ: typeOf[T](), name: string(a)}}}
}

// Const returns a number that is part of the kernel's code.
func Const[T kernels.Float](v T) Expr[T] {
	s := step{op: constant, typ: typeOf[T]()}
	*(*T)(unsafe.Pointer(&s.bits)) = v
	return Expr[T]{&node{step: s}}
}

// Cast converts x to another type, as [kernels.Cast] does. It first rounds a 16-bit x to its type.
func Cast[To, From kernels.Float](x Value[From]) Expr[To] {
	return Expr[To]{&node{step: step{op: cast, typ: typeOf[To](), from: typeOf[From]()}, args: []*node{nodeOf(x)}}}
}

// Add returns a + b.
func Add[T kernels.Float](a, b Value[T]) Expr[T] { return apply(add, a, b) }

// Sub returns a - b.
func Sub[T kernels.Float](a, b Value[T]) Expr[T] { return apply(sub, a, b) }

// Mul returns a · b.
func Mul[T kernels.Float](a, b Value[T]) Expr[T] { return apply(mul, a, b) }

// Div returns a / b.
func Div[T kernels.Float](a, b Value[T]) Expr[T] { return apply(div, a, b) }

// FMA returns a·b + c, rounded once, as [kernels.Axpy] computes it.
func FMA[T kernels.Float](a, b, c Value[T]) Expr[T] { return apply(fma, a, b, c) }

// Maximum returns the larger of a and b. If one of them is NaN, the result is the other.
func Maximum[T kernels.Float](a, b Value[T]) Expr[T] { return apply(maximum, a, b) }

// Minimum returns the smaller of a and b. If one of them is NaN, the result is the other.
func Minimum[T kernels.Float](a, b Value[T]) Expr[T] { return apply(minimum, a, b) }

// Neg returns -x.
func Neg[T kernels.Float](x Value[T]) Expr[T] { return apply(neg, x) }

// Abs returns |x|.
func Abs[T kernels.Float](x Value[T]) Expr[T] { return apply(abs, x) }

// ReLU returns the larger of x and 0. NaN stays NaN.
func ReLU[T kernels.Float](x Value[T]) Expr[T] { return apply(relu, x) }

// GELU returns x·Φ(x), as [kernels.GELU] computes it.
func GELU[T kernels.Float](x Value[T]) Expr[T] { return apply(gelu, x) }

// GELUTanh returns the approximation of GELU that [kernels.GELUTanh] computes.
func GELUTanh[T kernels.Float](x Value[T]) Expr[T] { return apply(gelutanh, x) }

// SiLU returns x / (1 + exp(-x)).
func SiLU[T kernels.Float](x Value[T]) Expr[T] { return apply(silu, x) }

// Sigmoid returns 1 / (1 + exp(-x)).
func Sigmoid[T kernels.Float](x Value[T]) Expr[T] { return apply(sigmoid, x) }

// Tanh returns tanh(x).
func Tanh[T kernels.Float](x Value[T]) Expr[T] { return apply(tanh, x) }

// Exp returns exp(x).
func Exp[T kernels.Float](x Value[T]) Expr[T] { return apply(exp, x) }

// Log returns the natural logarithm of x.
func Log[T kernels.Float](x Value[T]) Expr[T] { return apply(log, x) }

// Sqrt returns √x, rounded to nearest.
func Sqrt[T kernels.Float](x Value[T]) Expr[T] { return apply(sqrt, x) }

// Rsqrt returns 1/√x.
func Rsqrt[T kernels.Float](x Value[T]) Expr[T] { return apply(rsqrt, x) }

func apply[T kernels.Float](op operation, operands ...Value[T]) Expr[T] {
	n := &node{step: step{op: op, typ: typeOf[T]()}}
	for _, v := range operands {
		n.args = append(n.args, nodeOf(v))
	}
	return Expr[T]{n}
}

// nodeOf returns nil for a nil Value, a nil pointer to a Value and a zero Expr, which New reports.
func nodeOf[T kernels.Float](v Value[T]) *node {
	if r := reflect.ValueOf(v); !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil() {
		return nil
	}
	return v.expr().n
}

// node is a part of an expression. Its step has no operands: args has them.
type node struct {
	step
	args []*node
}

type operation uint8

const (
	input operation = iota
	scalar
	constant
	cast
	add
	sub
	mul
	div
	fma
	maximum
	minimum
	neg
	abs
	relu
	gelu
	gelutanh
	silu
	sigmoid
	tanh
	exp
	log
	sqrt
	rsqrt
)

// operationNames has the names for errors and for the names of kernels.
var operationNames = [...]string{
	"input", "scalar", "const", "cast", "add", "sub", "mul", "div", "fma", "max", "min",
	"neg", "abs", "relu", "gelu", "gelutanh", "silu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt",
}

func (op operation) String() string { return operationNames[op] }

// element is the type of elements.
type element uint8

const (
	f16 element = iota
	bf16
	f32
	f64
)

func (e element) String() string { return [...]string{"f16", "bf16", "f32", "f64"}[e] }

func (e element) size() int64 { return [...]int64{2, 2, 4, 8}[e] }

// half reports whether e has 16 bits. Such elements are computed in float32.
func (e element) half() bool { return e <= bf16 }

func typeOf[T kernels.Float]() element {
	switch any(*new(T)).(type) {
	case kernels.F16:
		return f16
	case kernels.BF16:
		return bf16
	case float32:
		return f32
	}
	return f64
}
