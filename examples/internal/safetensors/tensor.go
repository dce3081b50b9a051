package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/purecuda/cuda/ptx/num"
)

// Type is the type of a tensor's elements, spelled as in files.
type Type string

// The types that Float32s converts.
const (
	F32  Type = "F32"
	F16  Type = "F16"
	BF16 Type = "BF16"
)

// Size returns the number of bytes per element, or 0 for an unknown type.
func (t Type) Size() int {
	switch t {
	case "BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2":
		return 1
	case F16, BF16, "U16", "I16":
		return 2
	case F32, "U32", "I32":
		return 4
	case "F64", "U64", "I64":
		return 8
	}
	return 0
}

// Tensor is an array in a file, in row-major order.
type Tensor struct {
	Name  string
	Type  Type
	Shape []int
	Data  []byte // little-endian

	begin uint64 // offset of Data in the data of the file
}

// Float32s returns the elements as float32. Every supported type converts exactly.
func (t Tensor) Float32s() ([]float32, error) {
	switch t.Type {
	case F32:
		return convert(t.Data, 4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }), nil
	case BF16:
		return convert(t.Data, 2, func(b []byte) float32 { return num.BF16FromBits(binary.LittleEndian.Uint16(b)).Float32() }), nil
	case F16:
		return convert(t.Data, 2, func(b []byte) float32 { return num.F16FromBits(binary.LittleEndian.Uint16(b)).Float32() }), nil
	}
	return nil, fmt.Errorf("tensor %q has elements of type %s; %s, %s and %s can be read", t.Name, t.Type, F32, F16, BF16)
}

func convert(data []byte, size int, value func([]byte) float32) []float32 {
	list := make([]float32, len(data)/size)
	for i := range list {
		list[i] = value(data[i*size:])
	}
	return list
}
