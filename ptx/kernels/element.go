package kernels

import (
	"unsafe"

	elements "github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

// Element lists the element types of operands.
type Element interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | F16 | BF16 | float32 | float64
}

// Float lists the floating-point types.
type Float interface {
	F16 | BF16 | float32 | float64
}

func sizeOf[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}

type elementType uint8

const (
	noType elementType = iota
	typeU8
	typeI8
	typeU16
	typeI16
	typeU32
	typeI32
	typeU64
	typeI64
	typeF16
	typeBF16
	typeF32
	typeF64
)

// elementNames holds the name of each elementType in kernel names.
var elementNames = [...]string{"", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64"}

func typeOf[T Element]() elementType {
	var v T
	switch any(v).(type) {
	case uint8:
		return typeU8
	case int8:
		return typeI8
	case uint16:
		return typeU16
	case int16:
		return typeI16
	case uint32:
		return typeU32
	case int32:
		return typeI32
	case uint64:
		return typeU64
	case int64:
		return typeI64
	case F16:
		return typeF16
	case BF16:
		return typeBF16
	case float32:
		return typeF32
	}
	return typeF64
}

func typeName[T Element]() string { return elementNames[typeOf[T]()] }

// bitsName is like typeName, but for kernels that only move elements. Its result depends only on
// the size of T.
func bitsName[T any]() string {
	switch sizeOf[T]() {
	case 1:
		return "b8"
	case 2:
		return "b16"
	case 4:
		return "b32"
	}
	return "b64"
}

func isFloat[T Element]() bool { return typeOf[T]() >= typeF16 }

// classHalf is the class of F16 and BF16.
const classHalf = "half"

// floatClass returns the class of a type in kernel names. F16 and BF16 share kernels that distinguish
// them by a parameter, which contains kind.
func floatClass[T Element]() (class string, kind elements.Kind) {
	switch typeOf[T]() {
	case typeF16:
		return classHalf, elements.F16
	case typeBF16:
		return classHalf, elements.BF16
	case typeF32:
		return "f32", elements.F32
	}
	return "f64", elements.F32
}

// F16 and BF16 are the element types of 16-bit kernels. Package num has their conversions and
// arithmetic.
type (
	F16  = num.F16
	BF16 = num.BF16
)
