package kernels

import "unsafe"

// Element are the types of the elements of operands.
type Element interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | F16 | BF16 | float32 | float64
}

// Float are the floating-point types.
type Float interface {
	F16 | BF16 | float32 | float64
}

func sizeOf[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}

// typeName is the type as the names of kernels have it.
func typeName[T Element]() string {
	var v T
	switch any(v).(type) {
	case uint8:
		return "u8"
	case int8:
		return "i8"
	case uint16:
		return "u16"
	case int16:
		return "i16"
	case uint32:
		return "u32"
	case int32:
		return "i32"
	case uint64:
		return "u64"
	case int64:
		return "i64"
	case F16:
		return "f16"
	case BF16:
		return "bf16"
	case float32:
		return "f32"
	}
	return "f64"
}

// bitsName is the same for kernels that only move elements.
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

func isFloat[T Element]() bool {
	var v T
	switch any(v).(type) {
	case F16, BF16, float32, float64:
		return true
	}
	return false
}
